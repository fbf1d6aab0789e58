package testprogram

import (
	"os"
	"path/filepath"
	"time"

	"github.com/berthproject/berth/agent/fastinit"
)

const programName = "workload"

// settleDelay is the time after which a running program is assumed to have finished its start.
const settleDelay = 300 * time.Millisecond

// If berth is executed under the name workload, init runs this program before the other packages
// are initialized (see package fastinit), and does not return.
func init() {
	if filepath.Base(os.Args[0]) != programName {
		return
	}
	fastinit.DeferGC()
	time.AfterFunc(settleDelay, fastinit.DropFilePages)
	os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
}
