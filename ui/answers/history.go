package answers

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/internal/recording"
	"github.com/berthproject/berth/ui"
)

// history returns the answers for earlier times, nil without a journal. A user may read what the user may list now:
// the recording has no earlier permissions.
func (a Source) history() *ui.History {
	if a.Journal == "" {
		return nil
	}
	return &ui.History{Range: a.recordedRange, Fleet: a.fleetAt, Queue: a.queueAt, Pod: a.explainPodAt, Budgets: a.budgetsAt, Drain: a.drainAt, Zones: a.zonesAt,
		Descheduler: a.deschedulerAt, NodePressure: a.nodePressureAt}
}

// recordedRange returns the times that the recording covers. Its end is the present.
func (a Source) recordedRange(ctx context.Context, config *rest.Config, namespace string) ([]byte, error) {
	if err := requireList(ctx, config, corev1.Resource("pods"), namespace); err != nil {
		return nil, err
	}
	segments, err := recording.Segments(a.Journal)
	if err != nil {
		return nil, err
	}
	segments = slices.DeleteFunc(segments, func(s recording.Segment) bool { return s.Header.Schema != recording.Schema })
	if len(segments) == 0 {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]time.Time{"from": segments[0].Header.Start, "to": time.Now().UTC()})
}
