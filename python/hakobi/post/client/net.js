// Requests, and what they cost.

export const sent = { bytes: 0, requests: 0 };
const listeners = new Set();
export function onSent(listener) { listeners.add(listener); }

new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) { sent.bytes += entry.transferSize || 0; sent.requests += 1; }
  listeners.forEach((listener) => listener(sent));
}).observe({ type: 'resource', buffered: true });

export class Refusal extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

async function get(path, signal) {
  let response;
  try {
    response = await fetch(path, { signal, credentials: 'same-origin' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refusal(0, 'The server does not answer: it has ended, or the tunnel to it.');
  }
  if (!response.ok) throw new Refusal(response.status, (await response.text()).trim().slice(0, 300));
  return response;
}

export const getJson = async (path, signal) => (await get(path, signal)).json();
export const getBytes = async (path, signal) => (await get(path, signal)).arrayBuffer();
