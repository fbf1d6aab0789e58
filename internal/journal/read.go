package journal

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Read returns the records of a journal, one per pod, the newest first. The journal may be written to at the same time.
// Read ignores an incomplete last line. It skips other unreadable lines and returns them as lineErrors.
func Read(dir string) (records []*Displacement, lineErrors []error, err error) {
	paths, err := listFiles(dir, displacementPrefix)
	if err != nil {
		return nil, nil, fmt.Errorf("listing the journal's files: %w", err)
	}
	for _, p := range paths {
		fileRecords, fileErrors, err := readFile(p)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted in the meantime
		}
		if err != nil {
			return nil, nil, fmt.Errorf("opening the journal: %w", err)
		}
		records, lineErrors = append(records, fileRecords...), append(lineErrors, fileErrors...)
	}
	return Merge(records), lineErrors, nil
}

func readFile(path string) (out []*Displacement, lineErrors []error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return out, lineErrors, nil // an incomplete line
		}
		if err != nil {
			return nil, nil, err
		}
		d, err := ParseDisplacement(line)
		if err != nil {
			lineErrors = append(lineErrors, fmt.Errorf("%s:%d: %w", path, n, err))
			continue
		}
		out = append(out, d)
	}
}

// Read returns the records of all writers in the journal's directory. It returns none on nil.
func (j *Journal) Read() (records []*Displacement, lineErrors []error, err error) {
	if j == nil {
		return nil, nil, nil
	}
	return Read(j.dir)
}

// Merge merges the records of each pod into one and returns them newest first.
func Merge(records []*Displacement) []*Displacement {
	byPod := map[string]*Displacement{}
	var out []*Displacement
	for _, d := range records {
		key := d.Pod.ID()
		if d.Pod.UID == "" {
			key += d.Time.String()
		}
		merged, exists := byPod[key]
		if !exists {
			merged = &Displacement{}
			*merged = *d
			byPod[key] = merged
			out = append(out, merged)
			continue
		}
		merged.merge(d)
	}
	Sort(out)
	return out
}

// Sort sorts records, the newest first.
func Sort(list []*Displacement) {
	slices.SortFunc(list, func(a, b *Displacement) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Pod.Key(), b.Pod.Key()), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
}

// merge merges another record of the same pod. Original records take precedence over
// reconstructed ones, then earlier ones over later.
func (d *Displacement) merge(o *Displacement) {
	deleted, replacement := d.Deleted, d.Replacement
	if deleted == nil || o.Deleted != nil && o.Deleted.Before(*deleted) {
		deleted = o.Deleted
	}
	if replacement == nil || o.Replacement != nil && o.Replacement.isMoreComplete(replacement) {
		replacement = o.Replacement
	}
	earlier := d.Reconstructed == o.Reconstructed && o.Time.Before(d.Time)
	lessComplete := o
	if d.Reconstructed && !o.Reconstructed || earlier {
		previous := *d
		*d, lessComplete = *o, &previous
	}
	d.Deleted, d.Replacement = deleted, replacement
	d.fill(lessComplete)
}

// fill copies fields that are empty in d.
func (d *Displacement) fill(o *Displacement) {
	for _, field := range []struct{ to, from *string }{
		{&d.Node, &o.Node}, {&d.Reason, &o.Reason}, {&d.Message, &o.Message}, {&d.RequestedBy, &o.RequestedBy}, {&d.Rule, &o.Rule},
	} {
		if *field.to == "" {
			*field.to = *field.from
		}
	}
	if d.Owner == nil {
		d.Owner = o.Owner
	}
	if d.Preemptor == nil {
		d.Preemptor = o.Preemptor
	}
	if d.Pod.Created == nil {
		d.Pod.Created = o.Pod.Created
	}
	if d.GraceSeconds == nil && d.Reconstructed {
		d.GraceSeconds = o.GraceSeconds
	}
	if len(d.Budgets) == 0 {
		d.Budgets = o.Budgets
	}
}

// isMoreComplete reports whether r holds more than o.
func (r *Replacement) isMoreComplete(o *Replacement) bool { return r.completeness() > o.completeness() }

func (r *Replacement) completeness() (n int) {
	for _, isSet := range []bool{r.Node != "", r.Scheduled != nil, r.Ready != nil} {
		if isSet {
			n++
		}
	}
	return n
}

// Completeness returns a number that grows with the information in a record, from 1.
func (d *Displacement) Completeness() int {
	n := 1
	if !d.Reconstructed {
		n += 16
	}
	if d.Deleted != nil {
		n += 8
	}
	if d.Replacement != nil {
		n += 1 + d.Replacement.completeness()
	}
	return n
}
