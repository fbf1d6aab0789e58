package placement

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

func tolerating(ts ...model.Toleration) podOption {
	return spec(func(s *model.PodSpec) { s.Tolerations = ts })
}

func TestTaintToleration(t *testing.T) {
	const refused = "a TaintToleration (UAU): node(s) had untolerated taint(s)"
	gpu := tainted("gpu", "a10", model.NoSchedule)
	for name, tc := range map[string]struct {
		node nodeOption
		tol  model.Toleration
		want string
	}{
		"a NoSchedule taint refuses":               {node: gpu, want: refused},
		"a NoExecute taint refuses":                {node: tainted("gpu", "a10", model.NoExecute), want: refused},
		"a PreferNoSchedule taint does not":        {node: tainted("gpu", "a10", model.PreferNoSchedule)},
		"an equal value tolerates":                 {node: gpu, tol: model.Toleration{Key: "gpu", Value: "a10"}},
		"another value does not":                   {node: gpu, tol: model.Toleration{Key: "gpu", Value: "t4"}, want: refused},
		"Exists tolerates every value":             {node: gpu, tol: model.Toleration{Key: "gpu", Op: model.TolExists}},
		"Exists without key tolerates all":         {node: gpu, tol: model.Toleration{Op: model.TolExists}},
		"another effect does not tolerate":         {node: gpu, tol: model.Toleration{Op: model.TolExists, Effect: model.NoExecute}, want: refused},
		"an unknown operator tolerates nothing":    {node: gpu, tol: model.Toleration{Key: "gpu", Op: model.TolInvalid, Value: "a10"}, want: refused},
		"Gt tolerates nothing unless switched on":  {node: tainted("sla", "9", model.NoSchedule), tol: model.Toleration{Key: "sla", Op: model.TolGt, Value: "5"}, want: refused},
		"equality of a number is one of its words": {node: tainted("sla", "09", model.NoSchedule), tol: model.Toleration{Key: "sla", Value: "9"}, want: refused},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "verdicts", verdicts(decide(t, newState(node("a", tc.node)), pod("p", tolerating(tc.tol)))), tc.want)
		})
	}
	r := decide(t, newState(node("a", tainted("x", "", model.PreferNoSchedule), gpu)), pod("p"))
	expect(t, "the taint in the way", r.Nodes[0].Verdict.Reasons[0].Subject, "gpu=a10:NoSchedule")
}

func TestNumericTolerationsCompareTheTaintWithTheToleration(t *testing.T) {
	for name, tc := range map[string]struct {
		op          model.TolerationOp
		taint, mine string
		want        bool
	}{
		"Gt bears a taint above":         {model.TolGt, "950", "900", true},
		"Gt does not bear an equal one":  {model.TolGt, "900", "900", false},
		"Lt bears a taint below":         {model.TolLt, "-1", "0", true},
		"Lt does not bear one above":     {model.TolLt, "1", "0", false},
		"words are no numbers":           {model.TolGt, "many", "1", false},
		"leading zeros are not accepted": {model.TolGt, "010", "1", false},
		"nor is a plus sign":             {model.TolGt, "10", "+1", false},
		"nor what exceeds 64 bits":       {model.TolGt, "9223372036854775808", "1", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState(node("a", tainted("sla", tc.taint, model.NoExecute)))
			r := decide(t, s, pod("p", tolerating(model.Toleration{Key: "sla", Op: tc.op, Value: tc.mine})), func(c *Config) { c.TaintTolerationComparison = true })
			if got := r.Outcome == decision.Scheduled; got != tc.want {
				t.Errorf("tolerated: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestFewerSoftTaintsScoreMore(t *testing.T) {
	x, y, z := tainted("x", "", model.PreferNoSchedule), tainted("y", "", model.PreferNoSchedule), tainted("z", "", model.PreferNoSchedule)
	s := newState(node("a", x, y, z), node("b", x), node("c"))
	expect(t, "three of three", points(decide(t, s, pod("p")), decision.TaintToleration), "a=0 b=201 c=300")
	expect(t, "x tolerated", points(decide(t, s, pod("p", tolerating(model.Toleration{Key: "x", Op: model.TolExists}))), decision.TaintToleration), "a=0 b=300 c=300")
	expect(t, "a hard toleration bears no soft taint", points(decide(t, s, pod("p", tolerating(model.Toleration{Key: "x", Op: model.TolExists, Effect: model.NoSchedule}))),
		decision.TaintToleration), "a=0 b=201 c=300")
}
