package main

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
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/ui"
)

// uiAnswers computes the data of the web page in the format of the commands' -o json.
// It reads a journal only after the API server has authorized the user to list the objects.
type uiAnswers struct {
	settings settings.Settings
	journal  string // directory; empty: none
	policy   descheduling.Policy
}

func (a uiAnswers) answers() ui.Answers {
	return ui.Answers{Pod: a.explainPod, Queue: a.queue, Displacements: a.displacements,
		Drain: a.drain, Zones: a.zones, Descheduler: a.descheduler, NodePressure: nodePressureJSON, NodeDisk: nodeDiskJSON, Simulate: a.simulate, History: a.history()}
}

// explainPod returns the output of `berth explain pod -o json`.
func (a uiAnswers) explainPod(ctx context.Context, config *rest.Config, namespace, name string) ([]byte, error) {
	objects, err := readCluster(ctx, config, namespace, name)
	if err != nil {
		return nil, err
	}
	var decisions []journal.Decision
	if a.journal != "" {
		if decisions, _, err = journal.ReadDecisions(a.journal, namespace, name); err != nil {
			return nil, err
		}
	}
	if findPod(objects, namespace, name) != nil {
		explanation, err := newPodExplanation(a.settings, objects, namespace+"/"+name, decisions)
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
func (a uiAnswers) queue(ctx context.Context, config *rest.Config, namespace string) ([]byte, error) {
	pods, err := listPendingPods(ctx, config, namespace)
	if err != nil {
		return nil, err
	}
	return explain.QueueJSON(queueEntries(pods))
}

// displacements returns the output of `berth evictions --all -o json`.
func (a uiAnswers) displacements(ctx context.Context, config *rest.Config, namespace string) ([]byte, error) {
	list, err := a.records(ctx, config, namespace, "")
	if err != nil {
		return nil, err
	}
	return explain.EvictionsJSON(list)
}

func (a uiAnswers) records(ctx context.Context, config *rest.Config, namespace, pod string) ([]*journal.Displacement, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	source := history.Source{Client: client, Journal: a.journal, Namespace: namespace, Pod: pod}
	list, _, err := source.Read(ctx)
	return list, err
}
