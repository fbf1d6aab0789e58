package main

import (
	"io"

	"k8s.io/klog/v2"
)

// quietLogs keeps what the Kubernetes libraries log to errors, on stderr; what
// Berth has to say it says itself.
func quietLogs() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}
