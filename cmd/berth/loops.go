package main

import (
	"context"
	"slices"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/control/disruption"
	"github.com/berthproject/berth/control/endpoints"
	"github.com/berthproject/berth/control/garbage"
	"github.com/berthproject/berth/control/namespace"
	"github.com/berthproject/berth/control/nodelifecycle"
	"github.com/berthproject/berth/control/podgc"
	"github.com/berthproject/berth/control/serviceaccount"
	"github.com/berthproject/berth/control/taints"
	"github.com/berthproject/berth/control/volume"
	"github.com/berthproject/berth/control/workload"
	"github.com/berthproject/berth/control/workload/cronjob"
	"github.com/berthproject/berth/control/workload/daemonset"
	"github.com/berthproject/berth/control/workload/deployment"
	"github.com/berthproject/berth/control/workload/job"
	"github.com/berthproject/berth/control/workload/replicaset"
	"github.com/berthproject/berth/control/workload/statefulset"
)

// loop is one of the loops of berth controller.
type loop struct {
	name string
	run  func(ctx context.Context, w loopWorld) error
}

// loopWorld is what loops get.
type loopWorld struct {
	config  *rest.Config
	client  kubernetes.Interface
	quiet   kubernetes.Interface // the same, without a log line a warning: for deprecated kinds
	objects metadata.Interface
	factory informers.SharedInformerFactory // shared by all loops; each starts it
	ca      []byte                          // of the API server, for pods
	avoid   *workload.Avoid                 // the Holds that keep pods off nodes
	set     settings
	page    *page // where metrics are shown
	log     klog.Logger
}

// loops are all of them, one line each.
var loops = []loop{
	{"nodelifecycle", func(ctx context.Context, w loopWorld) error {
		return nodelifecycle.Run(ctx, w.client, w.factory, w.set.berth.NodeLifecycle.Health(), w.page.registry, w.log)
	}},
	{"taints", func(ctx context.Context, w loopWorld) error {
		return taints.Run(ctx, w.client, w.factory, w.displacer(taints.Component), w.set.taintOptions(), w.page.registry, w.log)
	}},
	{"podgc", func(ctx context.Context, w loopWorld) error {
		return podgc.Run(ctx, w.client, w.factory, w.displacer(podgc.Component), w.set.podGCOptions(), w.page.registry, w.log)
	}},
	{"namespace", func(ctx context.Context, w loopWorld) error {
		return namespace.Run(ctx, w.client, w.objects, w.factory, w.log)
	}},
	{"serviceaccount", func(ctx context.Context, w loopWorld) error {
		return serviceaccount.Run(ctx, w.client, w.factory, w.ca, w.log)
	}},
	{"replicaset", func(ctx context.Context, w loopWorld) error {
		return replicaset.Run(ctx, w.client, w.factory, w.avoid, w.log)
	}},
	{"replicationcontroller", func(ctx context.Context, w loopWorld) error {
		return replicaset.RunControllers(ctx, w.client, w.factory, w.avoid, w.log)
	}},
	{"deployment", func(ctx context.Context, w loopWorld) error {
		return deployment.Run(ctx, w.client, w.factory, w.log)
	}},
	{"daemonset", func(ctx context.Context, w loopWorld) error {
		return daemonset.Run(ctx, w.client, w.factory, w.avoid, w.log)
	}},
	{"statefulset", func(ctx context.Context, w loopWorld) error {
		return statefulset.Run(ctx, w.client, w.factory, w.avoid, w.log)
	}},
	{"job", func(ctx context.Context, w loopWorld) error {
		return job.Run(ctx, w.client, w.factory, w.avoid, w.log)
	}},
	{"cronjob", func(ctx context.Context, w loopWorld) error {
		return cronjob.Run(ctx, w.client, w.factory, w.log)
	}},
	{"disruption", func(ctx context.Context, w loopWorld) error {
		scales, err := disruption.NewScales(w.config, w.client.Discovery())
		if err != nil {
			return err
		}
		return disruption.Run(ctx, w.client, scales, w.factory, w.log)
	}},
	{"garbage", func(ctx context.Context, w loopWorld) error {
		return garbage.Run(ctx, w.quiet, w.objects, w.factory, w.log)
	}},
	{"volume", func(ctx context.Context, w loopWorld) error { return volume.Run(ctx, w.client, w.factory, w.log) }},
	{journaling, keepRecords},
	{"endpoints", func(ctx context.Context, w loopWorld) error {
		return endpoints.Run(ctx, w.quiet, w.factory, w.log)
	}},
}

// startControllers starts the loops, or those of them that are named. ca is the certificate that pods check the
// API server by; page shows their metrics.
func startControllers(p *parts, config *rest.Config, ca []byte, set settings, page *page, names ...string) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the server says when it is too much
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	quiet := rest.CopyConfig(config) // a namespace is emptied of deprecated kinds too
	quiet.WarningHandlerWithContext = rest.NoWarnings{}
	objects, err := metadata.NewForConfig(quiet)
	if err != nil {
		return err
	}
	silent, err := kubernetes.NewForConfig(quiet)
	if err != nil {
		return err
	}
	w := loopWorld{config: config, client: client, quiet: silent, objects: objects, factory: informers.NewSharedInformerFactory(client, 0), ca: ca, avoid: workload.NewAvoid(), set: set, page: page, log: klog.Background()}
	page.caches.Store(&w.factory)
	holds, err := v1alpha1.NewClient(config)
	if err != nil {
		return err
	}
	p.run("holds", func(ctx context.Context) error { return w.avoid.Run(ctx, holds, client.Discovery(), w.log) })
	for _, l := range loops {
		if len(names) == 0 || slices.Contains(names, l.name) {
			p.run(l.name, func(ctx context.Context) error { return l.run(ctx, w) })
		}
	}
	return nil
}
