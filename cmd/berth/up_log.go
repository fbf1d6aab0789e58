package main

import (
	"flag"
	"log/slog"
	"os"

	"k8s.io/klog/v2"
)

// logFile is the log of all components.
type logFile struct{ slog *slog.Logger }

// logToStderr sends logs to stderr, where service managers collect them.
func logToStderr() { klog.LogToStderr(true) }

// disableStderrErrors stops klog from copying errors to stderr. klog has only a flag for
// it.
func disableStderrErrors() {
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	_ = flags.Set("stderrthreshold", "FATAL")
}

// logToFile appends the log of all components to a file. It also returns a function that closes the file.
func logToFile(file string) (*logFile, func(), error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	klog.LogToStderr(false)
	klog.SetOutput(f)
	disableStderrErrors()
	return &logFile{slog.New(slog.NewTextHandler(f, nil))}, func() {
		klog.Flush()
		_ = f.Close()
	}, nil
}
