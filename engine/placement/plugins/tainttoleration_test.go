package plugins_test

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/testkit/build"
)

func tolerating(ts ...model.Toleration) build.PodOption {
	return build.Spec(func(s *model.PodSpec) { s.Tolerations = ts })
}

func TestTaintToleration(t *testing.T) {
	const rejected = "a TaintToleration (UAU): node(s) had untolerated taint(s)"
	gpu := build.Tainted("gpu", "a10", model.NoSchedule)
	for name, tc := range map[string]struct {
		node build.NodeOption
		tol  model.Toleration
		want string
	}{
		"a NoSchedule taint rejects":               {node: gpu, want: rejected},
		"a NoExecute taint rejects":                {node: build.Tainted("gpu", "a10", model.NoExecute), want: rejected},
		"a PreferNoSchedule taint does not reject": {node: build.Tainted("gpu", "a10", model.PreferNoSchedule)},
		"an equal value tolerates":                 {node: gpu, tol: model.Toleration{Key: "gpu", Value: "a10"}},
		"another value does not tolerate":          {node: gpu, tol: model.Toleration{Key: "gpu", Value: "t4"}, want: rejected},
		"Exists tolerates every value":             {node: gpu, tol: model.Toleration{Key: "gpu", Op: model.TolExists}},
		"Exists without key tolerates all":         {node: gpu, tol: model.Toleration{Op: model.TolExists}},
		"another effect does not tolerate":         {node: gpu, tol: model.Toleration{Op: model.TolExists, Effect: model.NoExecute}, want: rejected},
		"an unknown operator tolerates nothing":    {node: gpu, tol: model.Toleration{Key: "gpu", Op: model.TolInvalid, Value: "a10"}, want: rejected},
		"Gt is disabled":                           {node: build.Tainted("sla", "9", model.NoSchedule), tol: model.Toleration{Key: "sla", Op: model.TolGt, Value: "5"}, want: rejected},
		"Equal compares text":                      {node: build.Tainted("sla", "09", model.NoSchedule), tol: model.Toleration{Key: "sla", Value: "9"}, want: rejected},
	} {
		t.Run(name, func(t *testing.T) {
			build.Expect(t, "verdicts", build.Verdicts(decide(t, build.NewState(build.Node("a", tc.node)), build.Pod("p", tolerating(tc.tol)))), tc.want)
		})
	}
	r := decide(t, build.NewState(build.Node("a", build.Tainted("x", "", model.PreferNoSchedule), gpu)), build.Pod("p"))
	build.Expect(t, "the first untolerated taint", r.Nodes[0].Verdict.Reasons[0].Subject, "gpu=a10:NoSchedule")
}

func TestNumericTolerations(t *testing.T) {
	for name, tc := range map[string]struct {
		op                model.TolerationOp
		taint, toleration string
		want              bool
	}{
		"Gt tolerates a greater taint value": {model.TolGt, "950", "900", true},
		"Gt: equal value":                    {model.TolGt, "900", "900", false},
		"Lt tolerates a smaller taint value": {model.TolLt, "-1", "0", true},
		"Lt: greater value":                  {model.TolLt, "1", "0", false},
		"values that are not numbers":        {model.TolGt, "many", "1", false},
		"leading zeros are not accepted":     {model.TolGt, "010", "1", false},
		"a plus sign is not accepted":        {model.TolGt, "10", "+1", false},
		"value above 64 bits":                {model.TolGt, "9223372036854775808", "1", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := build.NewState(build.Node("a", build.Tainted("sla", tc.taint, model.NoExecute)))
			r := decide(t, s, build.Pod("p", tolerating(model.Toleration{Key: "sla", Op: tc.op, Value: tc.toleration})), func(c *framework.Config) { c.NumericTolerations = true })
			if got := r.Outcome == decision.Scheduled; got != tc.want {
				t.Errorf("tolerated %t, want %t", got, tc.want)
			}
		})
	}
}

func TestFewerPreferNoScheduleTaintsScoreHigher(t *testing.T) {
	x, y, z := build.Tainted("x", "", model.PreferNoSchedule), build.Tainted("y", "", model.PreferNoSchedule), build.Tainted("z", "", model.PreferNoSchedule)
	s := build.NewState(build.Node("a", x, y, z), build.Node("b", x), build.Node("c"))
	build.Expect(t, "all taints untolerated", build.Points(decide(t, s, build.Pod("p")), decision.TaintToleration), "a=0 b=201 c=300")
	build.Expect(t, "x tolerated", build.Points(decide(t, s, build.Pod("p", tolerating(model.Toleration{Key: "x", Op: model.TolExists}))), decision.TaintToleration), "a=0 b=300 c=300")
	build.Expect(t, "a NoSchedule toleration does not tolerate PreferNoSchedule", build.Points(decide(t, s, build.Pod("p", tolerating(model.Toleration{Key: "x", Op: model.TolExists, Effect: model.NoSchedule}))),
		decision.TaintToleration), "a=0 b=201 c=300")
}
