package main

import (
	"io"

	"k8s.io/klog/v2"
)

// quietLogs discards library logs below error level. Commands print their own output.
func quietLogs() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}
