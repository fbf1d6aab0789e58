package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/parity/cases"
)

func main() {
	out := flag.String("o", "", "directory for the vectors, one file per family")
	n := flag.Int("n", 1000, "number of random cases over all families")
	seed := flag.Uint64("seed", 1, "seed of the random cases")
	only := flag.String("family", "", "only this family")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: vectorgen [-n N] [-seed N] [-family NAME] -o DIR   make random cases, evaluate and write them\n"+
			"       vectorgen -o DIR FILE...                           evaluate recorded cases again, report differences")
		flag.PrintDefaults()
	}
	flag.Parse()
	klog.SetLogger(logr.Discard())
	err := errors.New("-o DIR is missing")
	switch {
	case *out == "":
	case flag.NArg() > 0:
		err = replay(flag.Args(), *out)
	default:
		err = generate(*n, *seed, *only, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "vectorgen:", err)
		os.Exit(1)
	}
}

// generate makes n cases, divided evenly among the families, and writes the decisions of
// kube-scheduler.
func generate(n int, seed uint64, only, dir string) error {
	families := cases.Families()
	if only != "" {
		families = []string{only}
	}
	for f, family := range families {
		count := n / len(families)
		if f < n%len(families) {
			count++
		}
		generated := make([]*vector, count)
		for i := range generated {
			c, err := cases.Make(family, seed, i)
			if err != nil {
				return err
			}
			generated[i] = &vector{}
			if err := json.Unmarshal(c, generated[i]); err != nil {
				return fmt.Errorf("%s, case %d: %w", family, i, err)
			}
		}
		dropped := map[string]int{}
		var vectors []*vector
		for i, err := range evaluateAll(generated) {
			if err != nil {
				dropped[err.Error()]++
			} else {
				vectors = append(vectors, generated[i])
			}
		}
		if err := write(filepath.Join(dir, family+".jsonl"), vectors); err != nil {
			return err
		}
		fmt.Printf("%s: %d cases, outcomes %v\n", family, len(vectors), outcomes(vectors))
		for reason, n := range dropped {
			fmt.Printf("%s: %d dropped: %s\n", family, n, reason)
		}
	}
	return nil
}

func outcomes(vectors []*vector) map[string]int {
	counts := map[string]int{}
	for _, v := range vectors {
		counts[v.Expect.Outcome]++
	}
	return counts
}

// replay evaluates recorded cases and reports those with a different decision.
func replay(files []string, dir string) error {
	same, different := 0, 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var vectors, read []*vector
		var before []*expectation
		decoder := json.NewDecoder(bytes.NewReader(raw))
		for decoder.More() {
			v := &vector{}
			if err := decoder.Decode(v); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			read = append(read, v)
			before = append(before, v.Expect)
		}
		for i, err := range evaluateAll(read) {
			v, recorded := read[i], before[i]
			if err != nil {
				fmt.Printf("%s: dropped: %v\n", v.ID, err)
				continue
			}
			if recorded != nil && !recorded.equal(v.Expect) {
				different++
				fmt.Printf("%s\n  recorded %s\n  current  %s\n", v.ID, compact(recorded.normalized()), compact(v.Expect.normalized()))
			} else {
				same++
			}
			vectors = append(vectors, v)
		}
		if err := write(filepath.Join(dir, filepath.Base(file)), vectors); err != nil {
			return err
		}
	}
	fmt.Printf("%d as recorded, %d different\n", same, different)
	return nil
}

// evaluateAll evaluates several vectors at a time, because the start of a scheduler is
// mostly waiting.
func evaluateAll(vectors []*vector) []error {
	errs := make([]error, len(vectors))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 12)
	for i, v := range vectors {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = v.evaluate()
		})
	}
	wg.Wait()
	return errs
}

func write(file string, vectors []*vector) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	var lines []byte
	for _, v := range vectors {
		line, err := json.Marshal(v)
		if err != nil {
			return err
		}
		lines = slices.Concat(lines, line, []byte("\n"))
	}
	return os.WriteFile(file, lines, 0o644)
}
