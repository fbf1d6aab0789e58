package controllermanager

import (
	"context"
	"fmt"
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
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

// controller is an entry of [Controllers].
type controller struct {
	Name string
	run  func(ctx context.Context, c controllerContext) error
}

// controllerContext holds what the controllers of a process share.
type controllerContext struct {
	config           *rest.Config
	client           kubernetes.Interface
	noWarningsClient kubernetes.Interface // does not log API warnings about deprecated kinds
	metadata         metadata.Interface
	informers        informers.SharedInformerFactory // each controller starts the informers that it uses
	ca               []byte                          // CA of the API server, for pods
	avoidHolds       *workload.AvoidHolds
	settings         settings.Settings
	status           *StatusServer // exports metrics
	env              runner.Environment
	log              klog.Logger
}

// process returns the runner.Process of a controller.
func (c *controllerContext) process() runner.Process {
	return runner.Process{Environment: c.env, Client: c.client, Informers: c.informers, Log: c.log}
}

// noWarnings is process with a client that logs no API warnings.
func (c *controllerContext) noWarnings() runner.Process {
	p := c.process()
	p.Client = c.noWarningsClient
	return p
}

// Controllers lists all controllers.
var Controllers = []controller{
	{"nodelifecycle", func(ctx context.Context, c controllerContext) error {
		return nodelifecycle.Run(ctx, c.process(), c.settings.Berth.NodeLifecycle.Options(), c.status.Registry)
	}},
	{"nodeipam", runNodeIPAM},
	{"tainteviction", func(ctx context.Context, c controllerContext) error {
		return tainteviction.Run(ctx, c.process(), c.displacer(tainteviction.Component), c.settings.TaintEvictionOptions(), c.status.Registry)
	}},
	{"podgc", func(ctx context.Context, c controllerContext) error {
		return podgc.Run(ctx, c.process(), c.displacer(podgc.Component), c.settings.PodGCOptions(), c.status.Registry)
	}},
	{"namespace", func(ctx context.Context, c controllerContext) error {
		return namespace.Run(ctx, c.client, c.metadata, c.informers, c.env, c.log)
	}},
	{"serviceaccount", func(ctx context.Context, c controllerContext) error {
		return serviceaccount.Run(ctx, c.client, c.informers, c.ca, c.env, c.log)
	}},
	{"replicaset", func(ctx context.Context, c controllerContext) error {
		return replicaset.Run(ctx, c.process(), c.avoidHolds)
	}},
	{"replicationcontroller", func(ctx context.Context, c controllerContext) error {
		return replicaset.RunControllers(ctx, c.process(), c.avoidHolds)
	}},
	{"deployment", func(ctx context.Context, c controllerContext) error {
		return deployment.Run(ctx, c.process())
	}},
	{"daemonset", func(ctx context.Context, c controllerContext) error {
		return daemonset.Run(ctx, c.process(), c.avoidHolds)
	}},
	{"statefulset", func(ctx context.Context, c controllerContext) error {
		return statefulset.Run(ctx, c.process(), c.avoidHolds)
	}},
	{"job", func(ctx context.Context, c controllerContext) error {
		return job.Run(ctx, c.process(), c.avoidHolds, c.status.Registry)
	}},
	{"cronjob", func(ctx context.Context, c controllerContext) error {
		return cronjob.Run(ctx, c.process(), c.status.Registry)
	}},
	{"horizontalpodautoscaler", func(ctx context.Context, c controllerContext) error {
		clients, err := horizontalpodautoscaler.NewClients(c.config, c.client.Discovery())
		if err != nil {
			return err
		}
		return horizontalpodautoscaler.Run(ctx, c.process(), clients)
	}},
	{"disruption", func(ctx context.Context, c controllerContext) error {
		scales, err := disruption.NewScaleClient(c.config, c.client.Discovery(), c.env)
		if err != nil {
			return err
		}
		return disruption.Run(ctx, c.process(), scales)
	}},
	{"garbagecollector", func(ctx context.Context, c controllerContext) error {
		return garbagecollector.Run(ctx, c.noWarnings(), c.metadata)
	}},
	{"volume", func(ctx context.Context, c controllerContext) error {
		return volume.Run(ctx, c.process())
	}},
	{"resourcequota", func(ctx context.Context, c controllerContext) error {
		return resourcequota.Run(ctx, c.noWarningsClient, c.metadata, c.informers, c.env, c.log)
	}},
	{RecordsController, runDisplacementRecords},
	{"endpoints", func(ctx context.Context, c controllerContext) error {
		return endpoints.Run(ctx, c.noWarnings())
	}},
}

// Start starts all controllers, or only those with the given names. Pods verify the API server with
// ca. status exports the metrics of the controllers.
func Start(group *rungroup.Group, config *rest.Config, ca []byte, s settings.Settings, status *StatusServer, names ...string) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the server limits requests
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	noWarningsConfig := rest.CopyConfig(config) // namespace deletion lists deprecated kinds, too
	noWarningsConfig.WarningHandlerWithContext = rest.NoWarnings{}
	metadataClient, err := metadata.NewForConfig(noWarningsConfig)
	if err != nil {
		return err
	}
	noWarningsClient, err := kubernetes.NewForConfig(noWarningsConfig)
	if err != nil {
		return err
	}
	shared := controllerContext{config: config, client: client, noWarningsClient: noWarningsClient, metadata: metadataClient, informers: informers.NewSharedInformerFactory(client, 0), ca: ca, avoidHolds: workload.NewAvoidHolds(), settings: s, status: status, env: runner.Production(), log: klog.Background()}
	status.informers.Store(&shared.informers)
	holds, err := v1alpha1.NewClient(config)
	if err != nil {
		return err
	}
	group.Start("holds", func(ctx context.Context) error {
		return shared.avoidHolds.Run(ctx, holds, client.Discovery(), shared.env, shared.log)
	})
	for _, c := range Controllers {
		if len(names) == 0 || slices.Contains(names, c.Name) {
			group.Start(c.Name, func(ctx context.Context) error { return c.run(ctx, shared) })
		}
	}
	return nil
}

// RecordsController is the name of the controller that writes the journal.
const RecordsController = "displacementrecords"

// runDisplacementRecords runs the controller of displacement records and Avoid Holds.
func runDisplacementRecords(ctx context.Context, c controllerContext) error {
	holds, err := v1alpha1.NewClient(c.config)
	if err != nil {
		return err
	}
	o := displacementrecords.Options{Holds: holds, Journal: c.settings.Journal, OnDisplaced: c.status.displacements.Count}
	if h := c.settings.Berth.Holds; h.Avoid {
		o.Backoff = displacement.Backoff{First: time.Duration(h.InitialSeconds) * time.Second, Max: time.Duration(h.MaxSeconds) * time.Second}
	}
	return displacementrecords.Run(ctx, c.process(), o)
}

// runNodeIPAM runs the controller of podCIDRs, unless it is disabled.
func runNodeIPAM(ctx context.Context, c controllerContext) error {
	options := c.settings.Berth.NodeIPAM
	if !options.AllocateNodeCIDRs {
		<-ctx.Done()
		return nil
	}
	o, err := options.Options(nodeipam.ClusterStart(ctx, c.client))
	if err != nil {
		return err
	}
	return nodeipam.Run(ctx, c.client, c.informers, o, c.log)
}

// undoTimeout limits how long the requests that undo a failed displacement take.
const undoTimeout = 30 * time.Second

// displacer returns the displacer of a controller, with the name of the upstream component
// that displaces for the same cause.
func (c *controllerContext) displacer(component string) *displacer.Displacer {
	log := c.log
	return &displacer.Displacer{
		OnDisplaced: c.status.displacements.Count,
		Client:      c.client, Now: c.env.Now, Component: component, Instance: component + "-" + c.env.Host,
		OnRecordLost: func(kind string, err error) {
			log.Error(err, "Failed to record a displacement", "kind", kind, "component", component)
		},
		OnUndoFailed: func(a displacement.Action, err error) {
			log.Error(err, "Failed to undo a displacement", "action", fmt.Sprintf("%T", a), "component", component)
		},
		UndoTimeout: undoTimeout,
	}
}
