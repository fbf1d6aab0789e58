package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/descheduler/pkg/descheduler"
)

// maxLineBytes is the maximum length of an input line.
const maxLineBytes = 16 << 20

func main() {
	runs := flag.Int("runs", 480, "number of runs of a vector whose results differ")
	sure := flag.Int("sure", 60, "number of runs of a vector whose results are equal")
	flag.Parse()
	klog.SetLogger(logr.Discard())
	descheduler.SetupPlugins()
	if err := record(os.Stdin, os.Stdout, *runs, *sure); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func record(in io.Reader, out io.Writer, runs, sure int) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLineBytes)
	w := json.NewEncoder(out)
	w.SetEscapeHTML(false)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return err
		}
		if err := v.record(runs, sure); err != nil {
			return fmt.Errorf("%s: %w", v.ID, err)
		}
		if err := w.Encode(&v); err != nil {
			return err
		}
	}
	return lines.Err()
}
