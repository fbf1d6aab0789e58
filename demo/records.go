package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/berthproject/berth/controllers/displacementrecords/history"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/journal"
)

// showRecords waits for n complete displacement records since the start of the act and prints
// them as berth evictions does.
func (s *session) showRecords(ctx context.Context, n int) error {
	source := history.Source{Client: s.client, Namespace: Namespace}
	var list []*journal.Displacement
	if err := s.pods.waitFor(ctx, func() string {
		all, _, err := source.Read(ctx)
		if err != nil {
			return err.Error()
		}
		f := history.Filter{Since: s.actStarted}
		list = f.Apply(all)
		complete := 0
		for _, d := range list {
			if d.Replacement != nil {
				complete++
			}
		}
		if complete < n {
			return fmt.Sprintf("%d of %d displacements have a complete record", complete, n)
		}
		return ""
	}); err != nil {
		return err
	}
	var text strings.Builder
	if err := explain.EvictionsText(&text, list, explain.TextOptions{Now: time.Now()}); err != nil {
		return err
	}
	s.printBlank()
	s.printCommand("evictions -n "+Namespace, text.String())
	return nil
}
