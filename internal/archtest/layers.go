package archtest

import "strings"

// Module is the module's path.
const Module = "github.com/berthproject/berth"

// layers of the rooms, as in ARCHITECTURE.md's table, which has "-" for 9; the longest prefix of a package's path counts. A package
// may import lower ranks only, and of its own rank its own room and what
// sideways says.
var layers = map[string]int{
	"cmd":               8,
	"controllers":           6,
	"agent":             6,
	"apiserver":         6,
	"load":              6,
	"sim":               6,
	"demo":              7,
	"drain":             6,
	"executor":           5,
	"informers":              5,
	"explain":           5,
	"controllers/podtemplate":  5, // pure functions of objects, for the simulator too
	"conformance":       5,
	"api":               4,
	"internal/conversion":   4,
	"internal/config":   4,
	"internal/metrics":  4,
	"internal/journal":  4,
	"engine/scheduling": 3,
	"engine/displacement":   2,
	"engine/preemption": 2,
	"engine/descheduling":  2,
	"engine/remediation":     2,
	"engine/budget":     1,
	"engine/placement":  1,
	"engine/cluster":    1,
	"engine/queue":      1,
	"engine/workload":   1,
	"engine/podlifecycle":    1,
	"engine/tainteviction":     1,
	"engine/nodelifecycle": 1,
	"engine/podgc":      1,
	"engine/nodepressure":   1,
	"engine/shutdown":   1,
	"engine/decision":   0,
	"engine/model":      0,
	"bench":             9, // measurement and tests stand outside of the house
	"e2e":               9,
	"scenarios":         9,
	"internal/testkit":  9,
	"internal/archtest": 9,
}

// sameLayerImports lists imports inside one rank between different rooms, with the
// reason.
var sameLayerImports = map[[2]string]string{
	{"engine/decision", "engine/model"}:      "records speak of pods and nodes",
	{"engine/placement", "engine/cluster"}:   "rules judge what is where",
	{"engine/queue", "engine/placement"}:     "which changes undo a rule's verdict",
	{"internal/config", "internal/conversion"}:   "addedAffinity and default constraints are compiled as a pod's",
	{"internal/metrics", "internal/journal"}: "displacements are counted by their records",
	{"internal/conversion", "api"}:               "Holds are compiled as all other objects are",
	{"executor", "explain"}:                   "the event's text is an explanation",
	{"conformance", "explain"}:               "messages are compared, too",
	{"drain", "sim"}:                         "tests compare what is foretold with what then happens in simulated clusters",
	{"sim", "drain"}:                         "berth drain is simulated, too",
}

// componentOf is the room of a package given by its path below the module, "" when
// it is in none.
func componentOf(pkg string) string {
	best := ""
	for component := range layers {
		if (pkg == component || strings.HasPrefix(pkg, component+"/")) && len(component) > len(best) {
			best = component
		}
	}
	return best
}
