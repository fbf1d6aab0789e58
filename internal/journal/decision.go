package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Decision is a scheduling decision about a pod and its outcome.
type Decision struct {
	Time      time.Time `json:"time"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       string    `json:"uid"`
	Action    string    `json:"action"`            // bind, reject, preempt, ...
	Attempt   int       `json:"attempt,omitempty"` // from 1
	Node      string    `json:"node,omitempty"`
	Message   string    `json:"message,omitempty"` // as in the pod's event
	Plugins   []string  `json:"plugins,omitempty"` // plugins that rejected the pod
	Victims   []string  `json:"victims,omitempty"` // namespace/name
	Outcome   string    `json:"outcome,omitempty"` // outcome of the API request
	Reason    string    `json:"reason,omitempty"`  // empty on success
}

// Decisions appends decisions of one writer to a directory, which may also hold displacement records.
type Decisions struct{ j *Journal }

// OpenDecisions opens a directory to append decisions; see Open.
func OpenDecisions(dir string, o Options) (*Decisions, error) {
	j, err := openFiles(dir, decisionPrefix, o)
	if err != nil {
		return nil, err
	}
	return &Decisions{j}, nil
}

// Append writes decisions and returns when they are on disk. It does nothing on nil.
func (d *Decisions) Append(list ...Decision) error {
	if d == nil || len(list) == 0 {
		return nil
	}
	var lines bytes.Buffer
	out := json.NewEncoder(&lines)
	out.SetEscapeHTML(false)
	for i := range list {
		if err := out.Encode(&list[i]); err != nil {
			return err
		}
	}
	return d.j.append(lines.Bytes())
}

// Close closes the journal. It does nothing on nil.
func (d *Decisions) Close() error {
	if d == nil {
		return nil
	}
	return d.j.Close()
}

// ReadDecisions returns the decisions about all pods with the given name, oldest first. It skips
// unreadable lines and returns their errors as lineErrors.
func ReadDecisions(dir, namespace, name string) (list []Decision, lineErrors []error, err error) {
	paths, err := listFiles(dir, decisionPrefix)
	if err != nil {
		return nil, nil, fmt.Errorf("listing the journal's files: %w", err)
	}
	for _, p := range paths {
		f, err := os.Open(p)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted in the meantime
		}
		if err != nil {
			return nil, nil, fmt.Errorf("opening the journal: %w", err)
		}
		fileRecords, fileErrors, err := readDecisionsFrom(f, p, namespace, name)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, nil, fmt.Errorf("reading the journal: %w", err)
		}
		list, lineErrors = append(list, fileRecords...), append(lineErrors, fileErrors...)
	}
	slices.SortStableFunc(list, func(a, b Decision) int { return a.Time.Compare(b.Time) })
	return list, lineErrors, nil
}

func readDecisionsFrom(r io.Reader, path, namespace, name string) (list []Decision, lineErrors []error, err error) {
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return list, lineErrors, nil // an incomplete line
		}
		if err != nil {
			return nil, nil, err
		}
		if !bytes.Contains(line, []byte(name)) {
			continue
		}
		var d Decision
		if err := json.Unmarshal(line, &d); err != nil {
			lineErrors = append(lineErrors, fmt.Errorf("%s:%d: %w", path, n, err))
		} else if d.Namespace == namespace && d.Name == name {
			list = append(list, d)
		}
	}
}
