package config

import (
	"fmt"
	"slices"
)

// APIVersion and Kind of the configuration file of Berth.
const (
	APIVersion = "berth.dev/v1alpha1"
	Kind       = "BerthConfiguration"
)

// Berth is a BerthConfiguration: options that the configuration files of Kubernetes
// components do not have. Every option has a default. `berth config` prints them.
type Berth struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Scheduler  Scheduler `json:"scheduler" doc:"Scheduling options that KubeSchedulerConfiguration does not have."`
	APIServer  APIServer `json:"apiServer" doc:"The API server."`
	Nodes      Nodes     `json:"nodes" doc:"Node agents and simulated nodes."`
	Budgets    Budgets   `json:"budgets" doc:"Evictions through the API, under disruption budgets."`

	NodeLifecycle NodeLifecycle `json:"nodeLifecycle" doc:"When nodes without heartbeats become Unknown, and how fast nodes get NoExecute taints."`
	NodeIPAM      NodeIPAM      `json:"nodeIPAM" doc:"Allocation of the podCIDRs of nodes."`
	Taints        Taints        `json:"taints" doc:"Taint eviction."`
	PodGC         PodGC         `json:"podGC" doc:"Garbage collection of terminated pods."`
	Holds         Holds         `json:"holds" doc:"Avoid Holds: an owner's pods avoid a node that evicted one of them."`
	Pressure      Pressure      `json:"pressure" doc:"Node pressure: memory, disk and process IDs."`
}

// Scheduler holds the scheduler's options.
type Scheduler struct {
	Seed                uint64 `json:"seed" doc:"Seed for the choice between nodes of equal score. The same seed, pods and nodes give the same choice."`
	NumericTolerations  bool   `json:"numericTolerations" doc:"Whether the toleration operators Gt and Lt compare integers, as with kube-scheduler's alpha gate TaintTolerationComparisonOperators."`
	BindWorkers         int    `json:"bindWorkers" doc:"Maximum concurrent bindings, 1 to 1000."`
	ScoreCacheMemoryMiB int    `json:"scoreCacheMemoryMiB" doc:"Memory of the score caches of all equivalence classes, up to 65536. The least recently used is evicted. 0: 64, or 6 KiB per node if that is more."`
	AuditEverySeconds   int    `json:"auditEverySeconds" doc:"Interval at which one pending pod is checked for a missed wake-up; 0: never. A missed wake-up is a bug in Berth and is reported by a metric and an event."`

	AssumedPressureSeconds int `json:"assumedPressureSeconds" doc:"How long the scheduler assumes node pressure after an eviction for memory, disk or process IDs, and the reported capacity after a rejected pod. A newer node condition ends it earlier. 0: place pods until the taint is set, as kube-scheduler does."`

	InPlacePodVerticalScalingSchedulerPreemption bool `json:"inPlacePodVerticalScalingSchedulerPreemption" doc:"Whether pods of lower priority are preempted for an in-place resize that a node defers, as with kube-scheduler's alpha gate of this name."`

	Preemption Preemption `json:"preemption" doc:"Preemption."`
}

// Preemption holds the options of preemption.
type Preemption struct {
	LedgerBudgets         bool `json:"ledgerBudgets" doc:"Whether allowed disruptions are counted from the pods and debited in the budget's status when victims are evicted, so that no disruption is used twice. false: only the status is read, however old, and nothing is debited, as in kube-scheduler."`
	PreferMovableVictims  bool `json:"preferMovableVictims" doc:"Whether, among nodes that are equal by kube-scheduler's criteria, the node is selected whose victims can most often be placed elsewhere. DaemonSet pods never can."`
	VictimsTimeoutSeconds int  `json:"victimsTimeoutSeconds" doc:"If victims are not deleted within their grace period plus this time, the preemptor is scheduled again, 1 to 86400. kube-scheduler waits forever."`
}

// APIServer holds the options of the API server.
type APIServer struct {
	StoredOnlyWarnings          bool     `json:"storedOnlyWarnings" doc:"Whether creating an object of a kind that no controller handles returns a warning."`
	StrictResourceVersions      bool     `json:"strictResourceVersions" doc:"Whether watches and updates reject non-numeric resource versions with 400 or 422; kube-apiserver answers 500."`
	DisableAdmissionPlugins     []string `json:"disableAdmissionPlugins" doc:"Admission plugins to disable, by upstream's names."`
	MaxRequestsInFlight         int      `json:"maxRequestsInFlight" doc:"Added to maxMutatingRequestsInFlight; priority levels share the sum. At least 1."`
	MaxMutatingRequestsInFlight int      `json:"maxMutatingRequestsInFlight" doc:"Added to maxRequestsInFlight; priority levels share the sum. At least 1."`

	DefaultNotReadyTolerationSeconds    int `json:"defaultNotReadyTolerationSeconds" doc:"tolerationSeconds for node.kubernetes.io/not-ready of pods without that toleration, 0 to 31536000."`
	DefaultUnreachableTolerationSeconds int `json:"defaultUnreachableTolerationSeconds" doc:"tolerationSeconds for node.kubernetes.io/unreachable, 0 to 31536000."`
}

// Nodes holds the options of node agents and simulated nodes.
type Nodes struct {
	StatusWriters       int `json:"statusWriters" doc:"Maximum concurrent status updates of simulated nodes, 1 to 1000."`
	LeaseRenewalSeconds int `json:"leaseRenewalSeconds" doc:"Interval at which an agent renews its node's Lease, 1 to 3600; well below nodeLifecycle.gracePeriodSeconds."`

	EndpointTimeoutMilliseconds int `json:"endpointTimeoutMilliseconds" doc:"Maximum delay of SIGTERM for the containers of a deleted pod, until the service proxy sends them no more connections; 0 to 30000. It is at most half of the grace period. 0: no delay, as in the kubelet."`
	ServiceSyncMilliseconds     int `json:"serviceSyncMilliseconds" doc:"Minimum time between two updates of the service proxy's rules, 0 to 60000. kube-proxy's minSyncPeriod is 1000."`
}

// Default returns the default configuration.
func Default() Berth {
	return Berth{
		APIVersion: APIVersion, Kind: Kind,
		Scheduler: Scheduler{BindWorkers: 32, AuditEverySeconds: 30, AssumedPressureSeconds: 20,
			Preemption: Preemption{LedgerBudgets: true, PreferMovableVictims: true, VictimsTimeoutSeconds: 600}},
		APIServer: APIServer{StoredOnlyWarnings: true, StrictResourceVersions: true, DisableAdmissionPlugins: []string{}, MaxRequestsInFlight: 400, MaxMutatingRequestsInFlight: 200,
			DefaultNotReadyTolerationSeconds: 300, DefaultUnreachableTolerationSeconds: 300},
		Nodes: Nodes{StatusWriters: 16, LeaseRenewalSeconds: 10, EndpointTimeoutMilliseconds: 2000},

		Budgets: defaultBudgets(), NodeLifecycle: defaultLifecycle(), NodeIPAM: defaultNodeIPAM(), PodGC: PodGC{TerminatedThreshold: 12500}, Holds: defaultHolds(), Pressure: defaultPressure(),
	}
}

// Validate returns all errors, each with path, value and accepted values.
func (c *Berth) Validate() []error {
	var errs []error
	requireRange := func(path string, v, low, high int) {
		if v < low || v > high {
			errs = append(errs, fmt.Errorf("%s: %d: must be between %d and %d", path, v, low, high))
		}
	}
	requireRange("scheduler.bindWorkers", c.Scheduler.BindWorkers, 1, 1000)
	requireRange("scheduler.scoreCacheMemoryMiB", c.Scheduler.ScoreCacheMemoryMiB, 0, 65536)
	requireRange("scheduler.auditEverySeconds", c.Scheduler.AuditEverySeconds, 0, 86400)
	requireRange("scheduler.assumedPressureSeconds", c.Scheduler.AssumedPressureSeconds, 0, 3600)
	requireRange("scheduler.preemption.victimsTimeoutSeconds", c.Scheduler.Preemption.VictimsTimeoutSeconds, 1, 86400)
	requireRange("apiServer.maxRequestsInFlight", c.APIServer.MaxRequestsInFlight, 1, 1000000)
	requireRange("apiServer.maxMutatingRequestsInFlight", c.APIServer.MaxMutatingRequestsInFlight, 1, 1000000)
	requireRange("apiServer.defaultNotReadyTolerationSeconds", c.APIServer.DefaultNotReadyTolerationSeconds, 0, 31536000)
	requireRange("apiServer.defaultUnreachableTolerationSeconds", c.APIServer.DefaultUnreachableTolerationSeconds, 0, 31536000)
	requireRange("nodes.statusWriters", c.Nodes.StatusWriters, 1, 1000)
	requireRange("nodes.endpointTimeoutMilliseconds", c.Nodes.EndpointTimeoutMilliseconds, 0, 30000)
	requireRange("nodes.serviceSyncMilliseconds", c.Nodes.ServiceSyncMilliseconds, 0, 60000)
	requireRange("nodes.leaseRenewalSeconds", c.Nodes.LeaseRenewalSeconds, 1, 3600)
	errs = append(errs, c.validateLifecycle(requireRange)...)
	c.Holds.validate(requireRange)
	errs = append(errs, c.Budgets.validate()...)
	if err := c.NodeIPAM.Validate(); err != nil {
		errs = append(errs, err)
	}
	for i, p := range c.APIServer.DisableAdmissionPlugins {
		if p == "" || slices.Index(c.APIServer.DisableAdmissionPlugins, p) != i {
			errs = append(errs, fmt.Errorf("apiServer.disableAdmissionPlugins[%d]: %q: must be the name of a plugin, without duplicates", i, p))
		}
	}
	return errs
}
