package main

import (
	"errors"
	"flag"
	"io"
	"strconv"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// quietLogs discards library logs below error level, since commands print their own output.
func quietLogs() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}

// verbosity is the value of -v.
type verbosity int

// addVerbosity adds -v, the verbosity of the log as in Kubernetes' components.
func addVerbosity(flags *pflag.FlagSet) {
	flags.VarP(new(verbosity), "v", "v", "verbosity of the log: 0 to 10, as in Kubernetes")
}

// String returns the level.
func (v *verbosity) String() string { return strconv.Itoa(int(*v)) }

// Type returns the type as shown in the help.
func (*verbosity) Type() string { return "level" }

// Set sets the level. Above 0, messages of libraries are logged too.
func (v *verbosity) Set(text string) error {
	level, err := strconv.ParseUint(text, 10, 8)
	if err != nil || level > 10 {
		return errors.New("must be a whole number between 0 and 10")
	}
	*v = verbosity(level)
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	if err := flags.Set("v", text); err != nil {
		return err
	}
	if level > 0 {
		logToStderr()
	}
	return nil
}
