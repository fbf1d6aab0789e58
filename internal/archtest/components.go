package archtest

import "strings"

// Module is the path of the Go module.
const Module = "github.com/berthproject/berth"

// unlayered is the layer of packages outside the product: tests and measurements.
const unlayered = 9

// component is a top-level part of the module.
type component struct {
	path    string // folder below the module's root
	layer   int    // imports point to lower layers; unlayered for tests and measurements
	purpose string // its line in ARCHITECTURE.md
}

// components is the list of packages that ARCHITECTURE.md shows.
// The longest path that is a prefix of a package's path decides its component.
// Run `go test ./internal/archtest -update` to write the table in ARCHITECTURE.md.
var components = []component{
	{"cmd", 8, "the `berth` binary: flags and wiring, one file per subcommand"},
	{"berthtest", 8, "runs a whole cluster inside a Go test"},
	{"internal/localcluster", 8, "composes a cluster in one process, for `berth up`, `berth demo` and berthtest"},
	{"demo", 7, "`berth demo`: five acts on a running or temporary cluster"},
	{"internal/cli", 7, "shared by subcommands: arguments, exit codes, client configuration, progress"},
	{"internal/controllermanager", 7, "the list of controllers, their shared informers, health and metrics"},
	{"internal/localnodes", 7, "nodes on this machine: simulated nodes, choice of a container runtime"},
	{"internal/reports", 7, "what client commands and the web page report, from a cluster, dumps or a recording"},
	{"ui", 7, "the web page: its server and, in ui/web, its sources"},
	{"agent", 6, "the node agent: pod workers, container runtimes, volumes, probes, node pressure, eviction"},
	{"apiserver", 6, "the Kubernetes API on etcd: kinds, validation, admission, authentication, subresources"},
	{"controllers", 6, "the controllers, one folder each, and the runners of scheduler and descheduler"},
	{"dns", 6, "cluster DNS: the Kubernetes DNS specification from informers, forwarding"},
	{"drain", 6, "`berth drain`: plans, previews and performs the evacuation of nodes"},
	{"load", 6, "`berth load`: creates the pods of a trace and reports their outcome"},
	{"sim", 6, "the simulator: a world of clock, API and faults; actors and invariants in subpackages, which `sim/cluster` composes"},
	{"apiserver/podvalidation", 5, "defaults and validation of pods, as pure functions"},
	{"conformance", 5, "compares Berth with recorded behavior of the real components"},
	{"controllers/podtemplate", 5, "pods from templates, as pure functions"},
	{"executor", 5, "executes the effects of the scheduling machine against the API"},
	{"explain", 5, "turns decisions into text, tables and JSON"},
	{"informers", 5, "turns watches and dumps into ordered engine events"},
	{"internal/displacer", 5, "performs displacements: executes their state machine with a client, or on the storage of evictions"},
	{"internal/eviction", 5, "API-initiated evictions, on the storage of the API server or of the simulator"},
	{"internal/settings", 5, "loads all configuration files of a command"},
	{"api", 4, "Berth's own API kind, `Hold` (berth.dev/v1alpha1)"},
	{"apiserver/quantities", 4, "limits of the quantities in requests, checked before they are decoded"},
	{"internal/apierror", 4, "classifies errors of API requests"},
	{"internal/contextlock", 4, "locks whose callers stop waiting when their contexts end"},
	{"internal/budgetstatus", 4, "the status of disruption budgets: computed status, debits, refunds"},
	{"internal/config", 4, "reads configuration files strictly: upstream's kinds and BerthConfiguration"},
	{"internal/conversion", 4, "converts API objects to the engine's model, one way"},
	{"internal/recording", 4, "records the inputs of the scheduler and its decisions, and replays it"},
	{"internal/journal", 4, "stores displacement records and scheduling decisions on disk"},
	{"internal/metrics", 4, "metrics that several processes export"},
	{"internal/quota", 4, "the ResourceQuota usage of objects"},
	{"internal/rungroup", 4, "runs the components of one process and stops all when one stops"},
	{"internal/table", 4, "text that fits a terminal: tables and wrapped lines"},
	{"engine/scheduling", 3, "the scheduling machine: composes queue, cluster, placement and preemption"},
	{"engine/evacuation", 3, "evicts pods and follows their replacements: drains of nodes, planned moves"},
	{"engine/descheduling", 2, "descheduler strategies and planned moves"},
	{"engine/displacement", 2, "causes, policies and records of displacements, and the state machine that performs them"},
	{"engine/preemption", 2, "selects victims, with a reference implementation"},
	{"engine/remediation", 2, "finds the smallest changes that make a pending pod schedulable"},
	{"engine/autoscaling", 1, "replicas of HorizontalPodAutoscalers: proposals of metrics, stabilization, scaling policies"},
	{"engine/budget", 1, "disruption budgets: status, allowed disruptions, decisions about evictions"},
	{"engine/cluster", 1, "cluster state in columns: assume, forget, fork, topology counters, change log"},
	{"engine/nodeipam", 1, "allocates the podCIDRs of nodes"},
	{"engine/nodelifecycle", 1, "finds unreachable nodes, taints nodes that are not ready, and limits the eviction rate per zone"},
	{"engine/nodepressure", 1, "memory, disk, inodes, pids: thresholds, ranking, node conditions"},
	{"engine/placement", 1, "filter and score plugins, score cache, queueing hints"},
	{"engine/podgc", 1, "selects pods for garbage collection"},
	{"engine/podlifecycle", 1, "a pod on its node: init containers, probes, restarts, backoff, grace"},
	{"engine/queue", 1, "the scheduling queue: order, backoff, wake-ups"},
	{"engine/shutdown", 1, "order and deadlines of a graceful node shutdown"},
	{"engine/tainteviction", 1, "which pods NoExecute taints evict, and when"},
	{"engine/workload", 1, "replicas, rollouts, ordinals, jobs and schedules"},
	{"engine/decision", 0, "decision records: outcome, verdicts and numbers, unformatted"},
	{"engine/model", 0, "pods, nodes, volumes and selectors as values"},
	{"engine/order", 0, "comparisons of times and booleans that state machines share"},
	{"bench", unlayered, "benchmarks of decisions, node pressure and the embedded runtime"},
	{"conformance/software", unlayered, "installs other projects' software and checks that it works"},
	{"conformance/suite", unlayered, "runs Kubernetes' conformance suite: builds it, packs substitute images, starts a cluster"},
	{"conformance/testcluster", unlayered, "for commands that run other software: builds it, packs images, starts a cluster"},
	{"deploy", unlayered, "manifests for a Kubernetes cluster and a Grafana dashboard, with their tests"},
	{"e2e", unlayered, "tests of the built binary"},
	{"internal/archtest", unlayered, "tests of the rules on this page"},
	{"internal/testkit", unlayered, "helpers that tests share"},
	{"scenarios", unlayered, "behavior over time as text, with the recorded timeline"},
}

// sameLayerImports lists the allowed imports between components of one layer, with the reason.
var sameLayerImports = map[[2]string]string{
	{"engine/decision", "engine/model"}:         "records refer to pods and nodes",
	{"engine/placement", "engine/cluster"}:      "plugins read cluster state",
	{"engine/queue", "engine/placement"}:        "queueing hints belong to plugins",
	{"engine/evacuation", "engine/scheduling"}:  "a drain calls the placers of the scheduler",
	{"internal/config", "internal/conversion"}:  "affinity in a profile is compiled like a pod's",
	{"internal/config", "internal/table"}:       "comments of a printed configuration fit a terminal",
	{"internal/metrics", "internal/journal"}:    "displacements are counted by their records",
	{"internal/conversion", "api"}:              "Holds are converted like other objects",
	{"executor", "internal/displacer"}:          "preemption displaces victims",
	{"internal/eviction", "internal/displacer"}: "an eviction displaces a pod",
	{"executor", "explain"}:                     "an event's message is an explanation",
	{"conformance", "explain"}:                  "messages are compared, too",
	{"internal/localnodes", "internal/cli"}:     "waiting for nodes shows a progress bar",
	{"ui", "internal/reports"}:                  "the page shows the commands' reports",
	{"drain", "sim"}:                            "tests compare a preview with a simulated drain",
	{"cmd", "internal/localcluster"}:            "berth up and berth demo run a cluster in one process",
	{"cmd", "berthtest"}:                        "tests of commands run a cluster",
	{"berthtest", "internal/localcluster"}:      "a test runs the same cluster as berth up",
	{"drain", "controllers"}:                    "a drain takes clock and timeouts from the environment of controllers",
	{"sim", "agent"}:                            "the simulator runs the node agent",
	{"sim", "drain"}:                            "the simulator runs berth drain",
	{"sim", "controllers"}:                      "the simulator runs the controllers",
}

// layers maps the path of each component to its layer.
var layers = func() map[string]int {
	m := map[string]int{}
	for _, c := range components {
		m[c.path] = c.layer
	}
	return m
}()

// componentOf returns the component that a package belongs to, or "" if there is none.
// The path is relative to the module's root.
func componentOf(pkg string) string {
	best := ""
	for _, c := range components {
		if (pkg == c.path || strings.HasPrefix(pkg, c.path+"/")) && len(c.path) > len(best) {
			best = c.path
		}
	}
	return best
}
