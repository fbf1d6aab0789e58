package reports

import (
	"context"
	"errors"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/recording"
)

const (
	// PressureInterval is the time between two reports of a node in the recording.
	PressureInterval = 30 * time.Second
	// pressureBatch is the number of nodes that report in an interval. In larger clusters the nodes take turns.
	pressureBatch = 50
	// pressureTimeout bounds the time in which a node reports.
	pressureTimeout = 5 * time.Second
	// maxPressureReport is the maximum size of a recorded report in bytes. Larger ones are not recorded.
	maxPressureReport = 64 << 10
)

// RecordPressure records the nodes' reports of their eviction thresholds until ctx is done, so that the web page can show
// them at earlier times.
func RecordPressure(ctx context.Context, config *rest.Config, recorder *recording.Recorder, log *slog.Logger) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(PressureInterval)
	defer ticker.Stop()
	for next := ""; ; {
		if next, err = recordPressureOnce(ctx, client, config, recorder, next); err != nil && ctx.Err() == nil {
			log.Warn("Failed to record the pressure of nodes", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// recordPressureOnce records the reports of at most pressureBatch nodes, from the token next of the previous call. It
// returns the token for the next call. Nodes that are not ready or do not respond are skipped.
func recordPressureOnce(ctx context.Context, client kubernetes.Interface, config *rest.Config, recorder *recording.Recorder, next string) (string, error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: pressureBatch, Continue: next})
	var expired *apierrors.StatusError
	if apierrors.IsResourceExpired(err) && errors.As(err, &expired) { // its token continues in the current state
		list, err = client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: pressureBatch, Continue: expired.ErrStatus.Continue})
	}
	if err != nil {
		return "", err
	}
	for i := range list.Items {
		name := list.Items[i].Name
		if status := conversion.NodeLifecycleNode(&list.Items[i]); status.NotReady() {
			continue
		}
		nodeCtx, cancel := context.WithTimeout(ctx, pressureTimeout)
		report, err := NodePressure(nodeCtx, config, name)
		cancel()
		if err == nil && len(report) <= maxPressureReport {
			recorder.Observe(time.Now(), &recording.NodePressure{Node: name, Report: string(report)})
		}
		if ctx.Err() != nil {
			return "", nil
		}
	}
	return list.Continue, nil
}
