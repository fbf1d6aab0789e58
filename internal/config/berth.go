package config

import (
	"fmt"
	"slices"
)

// APIVersion and Kind of Berth's own configuration file.
const (
	APIVersion = "berth.dev/v1alpha1"
	Kind       = "BerthConfiguration"
)

// Berth is what upstream's configuration files cannot say. Every option has a
// default; `berth config` prints them all.
type Berth struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Scheduler  Scheduler `json:"scheduler" doc:"How pods are placed, beyond what KubeSchedulerConfiguration says."`
	APIServer  APIServer `json:"apiServer" doc:"How the API answers."`
	Nodes      Nodes     `json:"nodes" doc:"The simulated nodes of berth up."`
	Budgets    Budgets   `json:"budgets" doc:"Evictions by request, under disruption budgets."`

	NodeLifecycle NodeLifecycle `json:"nodeLifecycle" doc:"When nodes are lost, and how fast their pods go."`
	Taints        Taints        `json:"taints" doc:"Eviction by NoExecute taints."`
	PodGC         PodGC         `json:"podGC" doc:"Which pods that have ended are kept."`
	Holds         Holds         `json:"holds" doc:"Pods that their node threw out stay off it for a while."`
	Pressure      Pressure      `json:"pressure" doc:"What a node does when memory, disk or pids run short."`
}

// Scheduler holds the options of placement.
type Scheduler struct {
	Seed               uint64 `json:"seed" doc:"Decides between nodes of equal score: same seed, same pods, same nodes, same choice."`
	NumericTolerations bool   `json:"numericTolerations" doc:"Whether the toleration operators Gt and Lt compare values as integers, as kube-scheduler does behind its alpha gate TaintTolerationComparisonOperators."`
	BindWorkers        int    `json:"bindWorkers" doc:"How many bindings may be under way at once, 1 to 1000."`
	ViewMemoryMiB      int    `json:"viewMemoryMiB" doc:"Memory that the views of pod shapes may take together, up to 65536; the one unused longest goes first. 0: 64, or 6 KiB a node where that is more."`
	AuditEverySeconds  int    `json:"auditEverySeconds" doc:"How often one waiting pod, in turn, is checked to have no node still; 0: never. A hit is a fault of Berth's, told by a metric and an event."`

	AssumedPressureSeconds int `json:"assumedPressureSeconds" doc:"How long a node that has just thrown a pod out for want of memory, disk or pids gets no pods that do not tolerate it, unless its condition says something newer, and how long one that has just not taken a pod is believed that it has no more left than it said; 0: until its taint is there, as with kube-scheduler, it gets more of them."`

	Preemption Preemption `json:"preemption" doc:"How pods make room for themselves."`
}

// Preemption holds the options of preemption.
type Preemption struct {
	LedgerBudgets         bool `json:"ledgerBudgets" doc:"Whether what disruption budgets allow is counted from the pods that are there, and booked in the budget's status when victims leave, so that nobody counts on it twice. false: kube-scheduler's way, which reads the status alone, however old, and books nothing."`
	PreferMovableVictims  bool `json:"preferMovableVictims" doc:"Whether, among nodes that are equal by kube-scheduler's criteria, the one is taken where the most victims find another node; a DaemonSet's pod never does."`
	VictimsTimeoutSeconds int  `json:"victimsTimeoutSeconds" doc:"A pod whose victims are not gone within their grace and this chooses anew, 1 to 86400. kube-scheduler waits for ever."`
}

// APIServer holds the options of the API server.
type APIServer struct {
	StoredOnlyWarnings          bool     `json:"storedOnlyWarnings" doc:"Whether creating an object of a kind that is stored, but that nothing acts on yet, answers with a Warning."`
	StrictResourceVersions      bool     `json:"strictResourceVersions" doc:"Whether a resource version that is no number is the caller's mistake (400, 422) in watches and updates, too; kube-apiserver answers 500."`
	DisableAdmissionPlugins     []string `json:"disableAdmissionPlugins" doc:"Admission plugins to leave out, by upstream's names."`
	MaxRequestsInFlight         int      `json:"maxRequestsInFlight" doc:"Reading requests served at once; more are answered 429 with Retry-After. At least 1."`
	MaxMutatingRequestsInFlight int      `json:"maxMutatingRequestsInFlight" doc:"The same for writing requests."`

	DefaultNotReadyTolerationSeconds    int `json:"defaultNotReadyTolerationSeconds" doc:"How long pods that do not say so stay on a node that is not ready, 0 to 31536000."`
	DefaultUnreachableTolerationSeconds int `json:"defaultUnreachableTolerationSeconds" doc:"The same for a node that is silent."`
}

// Nodes holds the options of simulated nodes.
type Nodes struct {
	StatusWriters       int `json:"statusWriters" doc:"How many status writes of simulated nodes may be under way at once, 1 to 1000."`
	LeaseRenewalSeconds int `json:"leaseRenewalSeconds" doc:"How often an agent says that its node is alive, 1 to 3600; well below nodeLifecycle.gracePeriodSeconds."`
}

// Default is the configuration without a file.
func Default() Berth {
	return Berth{
		APIVersion: APIVersion, Kind: Kind,
		Scheduler: Scheduler{BindWorkers: 32, AuditEverySeconds: 30, AssumedPressureSeconds: 20,
			Preemption: Preemption{LedgerBudgets: true, PreferMovableVictims: true, VictimsTimeoutSeconds: 600}},
		APIServer: APIServer{StoredOnlyWarnings: true, StrictResourceVersions: true, DisableAdmissionPlugins: []string{}, MaxRequestsInFlight: 400, MaxMutatingRequestsInFlight: 200,
			DefaultNotReadyTolerationSeconds: 300, DefaultUnreachableTolerationSeconds: 300},
		Nodes: Nodes{StatusWriters: 16, LeaseRenewalSeconds: 10},

		Budgets: defaultBudgets(), NodeLifecycle: defaultLifecycle(), PodGC: PodGC{TerminatedThreshold: 12500}, Holds: defaultHolds(), Pressure: defaultPressure(),
	}
}

// Validate returns all faults at once, each with path, value and what would be
// right.
func (c *Berth) Validate() []error {
	var errs []error
	within := func(path string, v, low, high int) {
		if v < low || v > high {
			errs = append(errs, fmt.Errorf("%s: %d: must be between %d and %d", path, v, low, high))
		}
	}
	within("scheduler.bindWorkers", c.Scheduler.BindWorkers, 1, 1000)
	within("scheduler.viewMemoryMiB", c.Scheduler.ViewMemoryMiB, 0, 65536)
	within("scheduler.auditEverySeconds", c.Scheduler.AuditEverySeconds, 0, 86400)
	within("scheduler.assumedPressureSeconds", c.Scheduler.AssumedPressureSeconds, 0, 3600)
	within("scheduler.preemption.victimsTimeoutSeconds", c.Scheduler.Preemption.VictimsTimeoutSeconds, 1, 86400)
	within("apiServer.maxRequestsInFlight", c.APIServer.MaxRequestsInFlight, 1, 1000000)
	within("apiServer.maxMutatingRequestsInFlight", c.APIServer.MaxMutatingRequestsInFlight, 1, 1000000)
	within("apiServer.defaultNotReadyTolerationSeconds", c.APIServer.DefaultNotReadyTolerationSeconds, 0, 31536000)
	within("apiServer.defaultUnreachableTolerationSeconds", c.APIServer.DefaultUnreachableTolerationSeconds, 0, 31536000)
	within("nodes.statusWriters", c.Nodes.StatusWriters, 1, 1000)
	within("nodes.leaseRenewalSeconds", c.Nodes.LeaseRenewalSeconds, 1, 3600)
	errs = append(errs, c.validateLifecycle(within)...)
	c.Holds.validate(within)
	errs = append(errs, c.Budgets.validate()...)
	for i, p := range c.APIServer.DisableAdmissionPlugins {
		if p == "" || slices.Index(c.APIServer.DisableAdmissionPlugins, p) != i {
			errs = append(errs, fmt.Errorf("apiServer.disableAdmissionPlugins[%d]: %q: must be the name of a plugin, given once", i, p))
		}
	}
	return errs
}
