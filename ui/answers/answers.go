package answers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/controllers/displacementrecords/history"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/internal/reports"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/ui"
)

// Source is where answers come from. The journal is read only after the API server has authorized the user to list the
// objects.
type Source struct {
	Settings settings.Settings
	Journal  string              // directory; empty: none
	Policy   descheduling.Policy // of the descheduler
}

// Answers returns the answers from the source.
func (a Source) Answers() ui.Answers {
	return ui.Answers{Pod: a.explainPod, Queue: a.queue, Displacements: a.displacements,
		Drain: a.drain, Zones: a.zones, Descheduler: a.descheduler, NodePressure: reports.NodePressure, NodeDisk: reports.NodeDisk, Simulate: a.simulate, History: a.history()}
}

// explainPod returns the output of `berth explain pod -o json`.
func (a Source) explainPod(ctx context.Context, config *rest.Config, namespace, name string) ([]byte, error) {
	objects, err := reports.ReadCluster(ctx, config, namespace, name)
	if err != nil {
		return nil, err
	}
	var decisions []journal.Decision
	if a.Journal != "" {
		if decisions, _, err = journal.ReadDecisions(a.Journal, namespace, name); err != nil {
			return nil, err
		}
	}
	if reports.FindPod(objects, namespace, name) != nil {
		explanation, err := reports.ExplainPod(a.Settings, objects, namespace+"/"+name, decisions)
		if err != nil {
			return nil, err
		}
		if explanation != nil {
			return explanation.JSON()
		}
	}
	displacements, err := a.records(ctx, config, namespace, name)
	if err != nil {
		return nil, err
	}
	if len(decisions)+len(displacements) == 0 {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), namespace+"/"+name)
	}
	return explain.DeletedPod{Pod: namespace + "/" + name, Decisions: decisions, Displacements: displacements}.JSON()
}

// queue returns the output of `berth queue -o json`.
func (a Source) queue(ctx context.Context, config *rest.Config, namespace string) ([]byte, error) {
	pods, err := reports.ListPendingPods(ctx, config, namespace)
	if err != nil {
		return nil, err
	}
	return explain.QueueJSON(reports.PendingPods(pods))
}

// displacements returns the output of `berth evictions --all -o json`.
func (a Source) displacements(ctx context.Context, config *rest.Config, namespace string) ([]byte, error) {
	list, err := a.records(ctx, config, namespace, "")
	if err != nil {
		return nil, err
	}
	return explain.EvictionsJSON(list)
}

func (a Source) records(ctx context.Context, config *rest.Config, namespace, pod string) ([]*journal.Displacement, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	source := history.Source{Client: client, Journal: a.Journal, Namespace: namespace, Pod: pod}
	list, _, err := source.Read(ctx)
	return list, err
}
