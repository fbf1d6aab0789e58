package berthtest

import (
	"flag"
	"io"
	"sync"

	"k8s.io/klog/v2"
)

// discardLogs discards the logs of the cluster, unless the test has configured klog by its flags. klog is
// global, so this happens once.
var discardLogs = sync.OnceFunc(func() {
	if f := flag.Lookup("logtostderr"); f != nil {
		return
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	_ = flags.Set("stderrthreshold", "FATAL")
})
