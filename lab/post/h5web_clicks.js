// What a person does in JupyterLab to see the field: a double click on the file, then a click on the data set; here at
// once when the page has them.
(() => {
  let hasFile = false;
  const look = () => {
    const file = document.querySelector('.jp-DirListing-item');
    if (file && !hasFile) {
      const box = file.getBoundingClientRect();
      if (box.width === 0) return;
      hasFile = true;
      const place = { bubbles: true, button: 0, clientX: box.left + 20, clientY: box.top + box.height / 2 };
      for (const kind of ['mousedown', 'mouseup', 'click', 'dblclick']) file.dispatchEvent(new MouseEvent(kind, place));
    }
    const data = [...document.querySelectorAll('[role=treeitem]')].find((item) => item.textContent.trim() === 'u');
    if (!data) return;
    clearInterval(timer);
    data.click();
  };
  const timer = setInterval(look, 10);
})();
