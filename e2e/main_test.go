package e2e

import (
	"flag"
	"io"
	"os"
	"runtime"
	"strconv"
	"testing"

	"k8s.io/klog/v2"
)

// TestMain discards the logs of client libraries about killed servers.
func TestMain(m *testing.M) {
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	_ = flags.Set("logtostderr", "false")
	_ = flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
	// These tests mostly wait for processes, so twice as many as CPUs run in parallel.
	flag.Parse()
	if p := flag.Lookup("test.parallel"); p != nil && p.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = p.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0)))
	}
	os.Exit(m.Run())
}
