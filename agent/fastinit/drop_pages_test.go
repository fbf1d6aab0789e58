package fastinit_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/berthproject/berth/agent/fastinit"
)

// TestMain also runs the helper process, which prints its file-backed memory before and after
// DropFilePages.
func TestMain(m *testing.M) {
	if os.Args[0] == "drop-pages" {
		fastinit.DeferGC()
		fmt.Println(fileMemory())
		fastinit.DropFilePages()
		fmt.Println(fileMemory())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fileMemory returns the file-backed memory of this process in KiB.
func fileMemory() int {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	n, err := strconv.Atoi(string(regexp.MustCompile(`RssFile:\s+(\d+)`).FindSubmatch(data)[1]))
	if err != nil {
		panic(err)
	}
	return n
}

// TestDropFilePages checks that DropFilePages reduces the resident file pages and that the process keeps
// running.
func TestDropFilePages(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = "drop-pages"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("helper process: %v: %s", err, out)
	}
	var before, after int
	if _, err := fmt.Fscan(bytes.NewReader(out), &before, &after); err != nil {
		t.Fatalf("output %q: %v, want two numbers", out, err)
	}
	if after >= before {
		t.Errorf("file-backed memory is %d KiB before and %d KiB after DropFilePages, want less", before, after)
	}
}
