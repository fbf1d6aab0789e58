package answers

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/descheduler"
	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/reports"
)

// drain returns the output of `berth drain --what-if -o json`.
func (a Source) drain(ctx context.Context, config *rest.Config, nodes []string, o drain.Options) ([]byte, error) {
	objects, err := reports.ReadCluster(ctx, config, "", "")
	if err != nil {
		return nil, err
	}
	scheduler, err := reports.DrainScheduler(a.Settings)
	if err != nil {
		return nil, err
	}
	r, err := reports.PreviewDrain(scheduler, objects, reports.Distinct(nodes), o)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return r.JSON()
}

// zones returns the output of `berth zones -o json`.
func (a Source) zones(ctx context.Context, config *rest.Config) ([]byte, error) {
	nodes, err := reports.ListZoneNodes(ctx, config)
	if err != nil {
		return nil, err
	}
	return json.Marshal(explain.ZonesOf(nodes, a.Settings.Berth.NodeLifecycle.Options(), time.Now()))
}

// previewTimeout bounds how long a preview of the descheduler waits for its informers: an informer retries a list that
// the user may not read.
const previewTimeout = 20 * time.Second

// descheduler returns the output of `berth descheduler --dry-run -o json`.
func (a Source) descheduler(ctx context.Context, config *rest.Config, maxEvictions *int) ([]byte, error) {
	if err := checkListable(ctx, config); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, previewTimeout, fmt.Errorf("reading the cluster took longer than %v: check that you may list and watch what `berth explain` reads", previewTimeout))
	defer cancel()
	o := descheduler.Options{Policy: a.Policy, Mode: descheduler.Planned, DryRun: true, Timeouts: evacuation.PlanTimeouts(), Log: klog.Background()}
	reports.LimitEvictions(&o.Policy, maxEvictions)
	r, err := reports.RunDescheduler(ctx, config, a.Settings, o, false)
	if err != nil {
		return nil, err
	}
	return r.JSON()
}

// checkListable returns the API server's error if the user may not list the objects that a preview needs most.
func checkListable(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	one := metav1.ListOptions{Limit: 1}
	if _, err := client.CoreV1().Pods("").List(ctx, one); err != nil {
		return err
	}
	if _, err := client.CoreV1().Nodes().List(ctx, one); err != nil {
		return err
	}
	_, err = client.CoreV1().Namespaces().List(ctx, one)
	return err
}
