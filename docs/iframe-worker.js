// The search runs in a worker. A page opened from a folder may not start one, so the worker's script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.body.appendChild(document.createElement("iframe"))
      frame.hidden = true
      this.inside = frame.contentWindow
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      this.loaded = new Promise((resolve) => {
        const script = this.inside.document.createElement("script")
        script.onload = resolve
        script.src = url
        this.inside.document.body.append(script)
      })
    }

    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
