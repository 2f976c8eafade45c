// What the server has: series, their steps, what is in a step. Steps are places (0, 1, …) in a series here, names there.

import { getJson } from './net.js';

export class Series {
  constructor(told) {
    Object.assign(this, told);
    this.steps = []; // how many the files have, as runs [steps, files]; one each of those that are not known yet
  }

  get numSteps() { return this.stepsBefore(this.count); }

  // How many steps the files before a place have.
  stepsBefore(place) {
    let [found, left] = [0, place];
    for (const [steps, files] of this.steps) {
      found += steps * Math.min(files, left);
      left -= Math.min(files, left);
    }
    return found + left;
  }

  // The name of the n-th step: its file's number, and its time there.
  nameOf(n) {
    let [place, left] = [0, n];
    for (const [steps, files] of this.steps) {
      if (left < steps * files) return `${this.number(place + Math.floor(left / steps))}.${left % steps}`;
      place += files;
      left -= steps * files;
    }
    return `${this.number(Math.min(this.count - 1, place + left))}.0`;
  }

  // The name of a step by its number: that of the last file that begins at or before it, where the step may be.
  nameOfStep(wanted) {
    let file = null;
    for (const [first, difference, count] of this.runs) {
      if (first > wanted) break;
      file = first + Math.min(count - 1, Math.floor((wanted - first) / difference)) * difference;
    }
    return file === null ? null : `${file}.${wanted - file}`;
  }

  // The file's number at a place; the number -1 stands for a file without one.
  number(place) {
    let left = place;
    for (const [first, difference, count] of this.runs) {
      if (left < count) return first + left * difference;
      left -= count;
    }
    return null;
  }

  placeOf(number) {
    let before = 0;
    for (const [first, difference, count] of this.runs) {
      const at = (number - first) / difference;
      if (Number.isInteger(at) && at >= 0 && at < count) return before + at;
      before += count;
    }
    return -1;
  }
}

export class Session {
  constructor(start) {
    this.root = start.root;
    this.series = new Map(start.series.map((told) => [told.id, new Series(told)]));
    this.steps = new Map();
    this.numbers = new Map();
    this.counts = new Map();
    if (start.step) {
      this.steps.set(`${start.step.series}/${start.step.step}`, Promise.resolve(start.step));
      const field = start.step.fields.find((f) => f.name === start.step.default);
      if (start.statistics && field) this.numbers.set(`${start.step.series}/${start.step.step}/${field.id}/${start.step.version}`, Promise.resolve(start.statistics));
    }
  }

  // Times in one file are steps too: a file with several has as many steps.
  async countSteps(series) {
    const key = `${series.id}/${series.count}/${series.number(series.count - 1)}`;
    series.steps = (await this.keep(this.counts, key, `api/${series.id}/counts`)).steps;
  }

  // A step's file, and of one whose description is another at each time, that of the name's.
  async step(series, name) {
    const [file, time] = name.split('.');
    const ask = (at) => this.keep(this.steps, `${series.id}/${file}.${at}`, `api/${series.id}/${file}.${at}`);
    const first = await ask(0);
    return first.is_of_time && Number(time) ? ask(time) : first;
  }

  statistics(series, name, field, version) {
    return this.keep(this.numbers, `${series.id}/${name}/${field.id}/${version}`, `api/${series.id}/${name}/${field.id}/statistics`);
  }

  keep(map, key, path) {
    if (!map.has(key)) {
      const coming = getJson(path);
      map.set(key, coming);
      coming.catch(() => map.delete(key));
      if (map.size > 500) map.delete(map.keys().next().value);
    }
    return map.get(key);
  }

  forget(series, name) {
    for (const key of this.counts.keys()) if (key.startsWith(`${series.id}/`)) this.counts.delete(key);
    for (const key of this.steps.keys()) if (key.startsWith(`${series.id}/${name.split('.')[0]}.`)) this.steps.delete(key);
  }

  // Calls back with a series whenever it has new steps, and whether it is new itself. A browser has six connections to a
  // server and a stream keeps one: of its windows one listens and tells the others. Where there are no locks (they need
  // https or this machine), each listens while it is seen.
  listen(onSeries) {
    const take = (told) => {
      const known = this.series.get(told.id);
      if (known) Object.assign(known, told); else this.series.set(told.id, new Series(told));
      onSeries(this.series.get(told.id), !known);
    };
    const channel = new BroadcastChannel('hakobi');
    channel.onmessage = (event) => take(event.data);
    const open = (isTold) => {
      const events = new EventSource('api/events');
      events.addEventListener('series', (event) => {
        const told = JSON.parse(event.data);
        take(told);
        if (isTold) channel.postMessage(told);
      });
      return events;
    };
    if (navigator.locks) {
      navigator.locks.request('hakobi-events', () => { open(true); return new Promise(() => {}); });
      return;
    }
    let events = open(false);
    document.addEventListener('visibilitychange', () => {
      events.close();
      if (!document.hidden) events = open(false);
    });
  }
}
