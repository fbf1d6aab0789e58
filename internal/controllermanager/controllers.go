package controllermanager

import (
	"context"
	"os"
	"slices"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/controllers/displacementrecords"
	"github.com/berthproject/berth/controllers/disruption"
	"github.com/berthproject/berth/controllers/endpoints"
	"github.com/berthproject/berth/controllers/garbagecollector"
	"github.com/berthproject/berth/controllers/horizontalpodautoscaler"
	"github.com/berthproject/berth/controllers/namespace"
	"github.com/berthproject/berth/controllers/nodeipam"
	"github.com/berthproject/berth/controllers/nodelifecycle"
	"github.com/berthproject/berth/controllers/podgc"
	"github.com/berthproject/berth/controllers/resourcequota"
	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/serviceaccount"
	"github.com/berthproject/berth/controllers/tainteviction"
	"github.com/berthproject/berth/controllers/volume"
	"github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workload/cronjob"
	"github.com/berthproject/berth/controllers/workload/daemonset"
	"github.com/berthproject/berth/controllers/workload/deployment"
	"github.com/berthproject/berth/controllers/workload/job"
	"github.com/berthproject/berth/controllers/workload/replicaset"
	"github.com/berthproject/berth/controllers/workload/statefulset"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

// controller is an entry of [Controllers].
type controller struct {
	Name string
	run  func(ctx context.Context, w controllerContext) error
}

// controllerContext is what controllers share.
type controllerContext struct {
	config      *rest.Config
	client      kubernetes.Interface
	quietClient kubernetes.Interface // does not log API warnings about deprecated kinds
	metadata    metadata.Interface
	informers   informers.SharedInformerFactory // each controller starts it
	ca          []byte                          // CA of the API server, for pods
	avoid       *workload.AvoidHolds            // Avoid Holds
	settings    settings.Settings
	status      *StatusServer // exports metrics
	env         runner.Environment
	log         klog.Logger
}

// Controllers lists all controllers.
var Controllers = []controller{
	{"nodelifecycle", func(ctx context.Context, w controllerContext) error {
		return nodelifecycle.Run(ctx, w.client, w.informers, w.settings.Berth.NodeLifecycle.Options(), w.status.Registry, w.env, w.log)
	}},
	{"nodeipam", runNodeIPAM},
	{"taints", func(ctx context.Context, w controllerContext) error {
		return tainteviction.Run(ctx, w.client, w.informers, w.displacer(tainteviction.Component), w.settings.TaintEvictionOptions(), w.status.Registry, w.env, w.log)
	}},
	{"podgc", func(ctx context.Context, w controllerContext) error {
		return podgc.Run(ctx, w.client, w.informers, w.displacer(podgc.Component), w.settings.PodGCOptions(), w.status.Registry, w.env, w.log)
	}},
	{"namespace", func(ctx context.Context, w controllerContext) error {
		return namespace.Run(ctx, w.client, w.metadata, w.informers, w.env, w.log)
	}},
	{"serviceaccount", func(ctx context.Context, w controllerContext) error {
		return serviceaccount.Run(ctx, w.client, w.informers, w.ca, w.env, w.log)
	}},
	{"replicaset", func(ctx context.Context, w controllerContext) error {
		return replicaset.Run(ctx, w.client, w.informers, w.avoid, w.env, w.log)
	}},
	{"replicationcontroller", func(ctx context.Context, w controllerContext) error {
		return replicaset.RunControllers(ctx, w.client, w.informers, w.avoid, w.env, w.log)
	}},
	{"deployment", func(ctx context.Context, w controllerContext) error {
		return deployment.Run(ctx, w.client, w.informers, w.env, w.log)
	}},
	{"daemonset", func(ctx context.Context, w controllerContext) error {
		return daemonset.Run(ctx, w.client, w.informers, w.avoid, w.env, w.log)
	}},
	{"statefulset", func(ctx context.Context, w controllerContext) error {
		return statefulset.Run(ctx, w.client, w.informers, w.avoid, w.env, w.log)
	}},
	{"job", func(ctx context.Context, w controllerContext) error {
		return job.Run(ctx, w.client, w.informers, w.avoid, w.status.Registry, w.env, w.log)
	}},
	{"cronjob", func(ctx context.Context, w controllerContext) error {
		return cronjob.Run(ctx, w.client, w.informers, w.status.Registry, w.env, w.log)
	}},
	{"horizontalpodautoscaler", func(ctx context.Context, w controllerContext) error {
		clients, err := horizontalpodautoscaler.NewClients(w.config, w.client.Discovery())
		if err != nil {
			return err
		}
		return horizontalpodautoscaler.Run(ctx, w.client, clients, w.informers, w.env, w.log)
	}},
	{"disruption", func(ctx context.Context, w controllerContext) error {
		scales, err := disruption.NewScaleClient(w.config, w.client.Discovery(), w.env)
		if err != nil {
			return err
		}
		return disruption.Run(ctx, w.client, scales, w.informers, w.env, w.log)
	}},
	{"garbagecollector", func(ctx context.Context, w controllerContext) error {
		return garbagecollector.Run(ctx, w.quietClient, w.metadata, w.informers, w.env, w.log)
	}},
	{"volume", func(ctx context.Context, w controllerContext) error {
		return volume.Run(ctx, w.client, w.informers, w.env, w.log)
	}},
	{"resourcequota", func(ctx context.Context, w controllerContext) error {
		return resourcequota.Run(ctx, w.quietClient, w.metadata, w.informers, w.env, w.log)
	}},
	{RecordsController, runDisplacementRecords},
	{"endpoints", func(ctx context.Context, w controllerContext) error {
		return endpoints.Run(ctx, w.quietClient, w.informers, w.log)
	}},
}

// Start starts the controllers, or only the named ones. ca is the CA that pods use to
// verify the API server. status exports their metrics.
func Start(p *rungroup.Group, config *rest.Config, ca []byte, set settings.Settings, status *StatusServer, names ...string) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the server limits requests
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	quiet := rest.CopyConfig(config) // namespace deletion lists deprecated kinds, too
	quiet.WarningHandlerWithContext = rest.NoWarnings{}
	objects, err := metadata.NewForConfig(quiet)
	if err != nil {
		return err
	}
	silent, err := kubernetes.NewForConfig(quiet)
	if err != nil {
		return err
	}
	w := controllerContext{config: config, client: client, quietClient: silent, metadata: objects, informers: informers.NewSharedInformerFactory(client, 0), ca: ca, avoid: workload.NewAvoidHolds(), settings: set, status: status, env: runner.Production(), log: klog.Background()}
	status.informers.Store(&w.informers)
	holds, err := v1alpha1.NewClient(config)
	if err != nil {
		return err
	}
	p.Start("holds", func(ctx context.Context) error { return w.avoid.Run(ctx, holds, client.Discovery(), w.env, w.log) })
	for _, l := range Controllers {
		if len(names) == 0 || slices.Contains(names, l.Name) {
			p.Start(l.Name, func(ctx context.Context) error { return l.run(ctx, w) })
		}
	}
	return nil
}

// RecordsController is the controller that writes the journal.
const RecordsController = "records"

// runDisplacementRecords runs the controller of displacement records and Avoid Holds.
func runDisplacementRecords(ctx context.Context, w controllerContext) error {
	holds, err := v1alpha1.NewClient(w.config)
	if err != nil {
		return err
	}
	o := displacementrecords.Options{Client: w.client, Factory: w.informers, Holds: holds, Journal: w.settings.Journal, OnDisplaced: w.status.displacements.Count, Env: w.env, Log: w.log}
	if c := w.settings.Berth.Holds; c.Avoid {
		o.Backoff = displacement.Backoff{First: time.Duration(c.InitialSeconds) * time.Second, Max: time.Duration(c.MaxSeconds) * time.Second}
	}
	return displacementrecords.Run(ctx, o)
}

// runNodeIPAM runs the controller of pod ranges, unless it is disabled.
func runNodeIPAM(ctx context.Context, w controllerContext) error {
	c := w.settings.Berth.NodeIPAM
	if !c.AllocateNodeCIDRs {
		<-ctx.Done()
		return nil
	}
	o, err := c.Options(nodeipam.ClusterStart(ctx, w.client))
	if err != nil {
		return err
	}
	return nodeipam.Run(ctx, w.client, w.informers, o, w.log)
}

// displacer returns the displacer of a controller, with the name of the upstream component
// that displaces for the same cause.
func (w *controllerContext) displacer(component string) *executor.Displacer {
	host, _ := os.Hostname()
	log := w.log
	return &executor.Displacer{
		OnDisplaced: w.status.displacements.Count,
		Client:      w.client, Now: w.env.Now, Component: component, Instance: component + "-" + host,
		OnRecordLost: func(what string, err error) {
			log.Error(err, "Failed to record a displacement", "what", what, "by", component)
		},
	}
}
