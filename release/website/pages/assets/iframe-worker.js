// SPDX-License-Identifier: GPL-3.0-or-later
// Search runs in a worker, which browsers refuse to a page opened from a folder. There a hidden
// frame does the worker's work: same interface, same thread.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.documentElement.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      // What it imports it waits for, one after the other.
      inside.importScripts = (...urls) => urls.reduce(
        (before, one) => before.then(() => this.load(new URL(one, url).href)), Promise.resolve())
      this.load(url).then(() => {
        this.ready = true
        this.waiting.splice(0).forEach(data => this.tell(data))
      })
    }
    load(url) {
      return new Promise((done, failed) => {
        const script = this.frame.contentDocument.createElement("script")
        script.src = url
        script.onload = done
        script.onerror = failed
        this.frame.contentDocument.head.append(script)
      })
    }
    tell(data) {
      const inside = this.frame.contentWindow
      inside.dispatchEvent(new inside.MessageEvent("message", { data }))
    }
    postMessage(data) {
      if (this.ready) this.tell(data)
      else this.waiting.push(data)
    }
    terminate() { this.frame.remove() }
  }
}
