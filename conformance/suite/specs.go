package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// specNames returns the names of all conformance specs, sorted. It reads them from the sources of the suite in the
// directory source.
func specNames(source string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(source, "test", "conformance", "testdata", "conformance.yaml"))
	if err != nil {
		return nil, err
	}
	return parseSpecNames(data)
}

// parseSpecNames reads the list of conformance specs.
func parseSpecNames(data []byte) ([]string, error) {
	var specs []struct {
		Name string `json:"codename"`
	}
	if err := yaml.Unmarshal(data, &specs); err != nil {
		return nil, fmt.Errorf("reading conformance.yaml: %w", err)
	}
	var names []string
	for _, s := range specs {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// selectSpecs returns the names that match focus and do not match skip. Empty expressions select all.
func selectSpecs(names []string, focus, skip string) ([]string, error) {
	f, err := regexp.Compile(focus)
	if err != nil {
		return nil, fmt.Errorf("-focus: %w", err)
	}
	s, err := regexp.Compile(skip)
	if err != nil {
		return nil, fmt.Errorf("-skip: %w", err)
	}
	var selected []string
	for _, n := range names {
		if f.MatchString(n) && (skip == "" || !s.MatchString(n)) {
			selected = append(selected, n)
		}
	}
	if len(selected) == 0 {
		return nil, fmt.Errorf("-focus %q, -skip %q: no conformance spec matches", focus, skip)
	}
	return selected, nil
}

// sig returns the SIG of a spec, for example node.
func sig(spec string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(spec, "[sig-"), "]")
	return name
}

// mustRunAlone reports whether a spec must not run at the same time as others.
func mustRunAlone(spec string) bool {
	return strings.Contains(spec, "[Serial]") || strings.Contains(spec, "[Disruptive]")
}

// serialBatch is the name of the batch of specs that run one at a time.
const serialBatch = "serial"

// batch is a set of specs that run together.
type batch struct {
	name  string
	specs []string
}

// splitBatches returns one batch per SIG, or per group of beyondBatch. The last batch has the specs that must run alone.
// selected is a comma-separated list of batch names, "" for all batches, quickBatch, or beyondBatch.
func splitBatches(specs []string, selected string) ([]batch, error) {
	batchOf := sig
	if selected == beyondBatch {
		batchOf, selected = func(s string) string { return beyondBatch + "-" + groupOf(s) }, ""
	}
	if selected == quickBatch {
		b := selectQuick(specs)
		if len(b.specs) == 0 {
			return nil, fmt.Errorf("-batch %s: -focus and -skip select none of its specs", quickBatch)
		}
		return []batch{b}, nil
	}
	byName := map[string][]string{}
	for _, s := range specs {
		name := batchOf(s)
		if mustRunAlone(s) {
			name = serialBatch
		}
		byName[name] = append(byName[name], s)
	}
	names := slices.DeleteFunc(sortedKeys(byName), func(n string) bool { return n == serialBatch })
	if len(byName[serialBatch]) > 0 {
		names = append(names, serialBatch)
	}
	if selected != "" {
		for _, batchName := range strings.Split(selected, ",") {
			if !slices.Contains(names, batchName) {
				return nil, fmt.Errorf("-batch %q: must be %s or some of %s", batchName, quickBatch, strings.Join(names, ", "))
			}
		}
		names = strings.Split(selected, ",")
	}
	var batches []batch
	for _, n := range names {
		batches = append(batches, batch{n, byName[n]})
	}
	return batches, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
