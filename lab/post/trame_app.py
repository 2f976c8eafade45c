"""A plane of a field by trame: drawn by VTK at the server, sent as images. For compare.py; run with a Python that has
trame, trame-vtk, vtk and h5py.

    trame_app.py FILE FIELD AXIS --host HOST --port PORT

Each viewer who opens the page is shown a plane that was not read before: the server reads it, and no more, by h5py.
"""

from __future__ import annotations

import sys

import h5py
import vtkmodules.vtkRenderingOpenGL2  # noqa: F401, the same
from trame.app import get_server
from trame.ui.html import DivLayout
from trame.widgets import html
from trame.widgets import vtk as views
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonCore import vtkLookupTable
from vtkmodules.vtkCommonDataModel import vtkImageData
from vtkmodules.vtkInteractionStyle import vtkInteractorStyleImage
from vtkmodules.vtkRenderingCore import (
    vtkImageSlice,
    vtkImageSliceMapper,
    vtkRenderer,
    vtkRenderWindow,
    vtkRenderWindowInteractor,
)
from vtkmodules.vtkRenderingImage import vtkImageResliceMapper  # noqa: F401, registers with VTK's factory

path, name, axis = sys.argv[1], sys.argv[2], int(sys.argv[3])
field = h5py.File(path, "r")[name]

mapper = vtkImageSliceMapper()
colours = vtkLookupTable()
colours.SetTableRange(-1.2, 1.6)
colours.SetHueRange(0.667, 0.0)
colours.Build()
image_slice = vtkImageSlice()
image_slice.SetMapper(mapper)
image_slice.GetProperty().SetLookupTable(colours)
image_slice.GetProperty().UseLookupTableScalarRangeOn()
renderer = vtkRenderer()
renderer.SetBackground(0.9, 0.9, 0.9)
window = vtkRenderWindow()
window.SetOffScreenRendering(1)
window.SetMultiSamples(0)
window.AddRenderer(renderer)
interactor = vtkRenderWindowInteractor()
interactor.SetRenderWindow(window)
interactor.SetInteractorStyle(vtkInteractorStyleImage())

server = get_server()
number = 1


def show(index: int) -> None:
    plane = field[tuple(index if d == axis else slice(None) for d in range(3))]
    image = vtkImageData()
    image.SetDimensions(plane.shape[1], plane.shape[0], 1)
    image.GetPointData().SetScalars(numpy_to_vtk(plane.ravel(), deep=True))
    mapper.SetInputData(image)
    renderer.AddViewProp(image_slice)
    renderer.ResetCamera()
    camera = renderer.GetActiveCamera()
    camera.ParallelProjectionOn()
    camera.SetParallelScale(plane.shape[0] / 2)


@server.controller.add("on_client_connected")
def connected(**_: object) -> None:
    global number
    number = (number + 97) % field.shape[axis]
    show(number)
    server.controller.view_update()


@server.controller.add("on_client_exited")
def exited(**_: object) -> None:
    renderer.RemoveViewProp(image_slice)


with DivLayout(server), html.Div(style="position: absolute; inset: 0"):
    view = views.VtkRemoteView(window, interactive_ratio=1)
    server.controller.view_update = view.update

server.start(open_browser=False, show_connection_info=False)
