package testprogram

import (
	"os"
	"path/filepath"
	"time"

	"github.com/berthproject/berth/agent/fastinit"
)

// programName is what the program is called in its image.
const programName = "workload"

// settleDelay is when a program that still runs will go on to do so.
const settleDelay = 300 * time.Millisecond

// This program can be part of a large one, of which the built-in image is made. Where that is run under the name
// workload, what else it links is not to be initialised (package early says why): this does not return then.
func init() {
	if filepath.Base(os.Args[0]) != programName {
		return
	}
	fastinit.DeferGC()
	time.AfterFunc(settleDelay, fastinit.DropFilePages)
	os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
}
