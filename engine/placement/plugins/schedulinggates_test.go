package plugins_test

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
	"github.com/berthproject/berth/internal/testkit/build"
)

func TestPodsWithResourceClaimsAreGated(t *testing.T) {
	const idle = `spec.resourceClaims: ResourceClaim "default/a": devices are not allocated yet; remove the claim to place the pod without them`
	tests := []struct {
		name         string
		claims       []model.PodResourceClaim
		claimObjects []model.ResourceClaim
		want         string
	}{
		{"missing", []model.PodResourceClaim{{Name: "c", Claim: "a"}}, nil, `could not find ResourceClaim "default/a"`},
		{"the second is missing", []model.PodResourceClaim{{Claim: "a"}, {Claim: "b"}}, []model.ResourceClaim{{Name: "a"}},
			`could not find ResourceClaim "default/b"`},
		{"known", []model.PodResourceClaim{{Claim: "a"}}, []model.ResourceClaim{{Name: "a"}}, idle},
		{"being deleted", []model.PodResourceClaim{{Claim: "a"}}, []model.ResourceClaim{{Name: "a", Deleting: true}}, `resourceclaim "a" is being deleted`},
		{"not created yet", []model.PodResourceClaim{{Name: "c", Template: "t"}}, nil, `pod "default/p": ResourceClaim not created yet`},
		{"created for another pod", []model.PodResourceClaim{{Claim: "a", Template: "t"}}, []model.ResourceClaim{{Name: "a", Owner: model.Owner{UID: "x"}}},
			`ResourceClaim default/a was not created for Pod default/p (Pod is not owner)`},
		{"made", []model.PodResourceClaim{{Claim: "a", Template: "t"}}, []model.ResourceClaim{{Name: "a", Owner: model.Owner{UID: "p"}}}, idle},
		{"neither", []model.PodResourceClaim{{Name: "c"}}, nil, `pod "default/p", spec.resourceClaim "c": none of the supported fields are set`},
	}
	profile, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		s := build.NewState(build.Node("n"))
		for i := range tt.claimObjects {
			tt.claimObjects[i].Namespace = "default"
			s.UpsertResourceClaim(&tt.claimObjects[i])
		}
		v := plugins.PreEnqueue(profile, s, build.Pod("p", build.Spec(func(s *model.PodSpec) { s.ResourceClaims = tt.claims })))
		if v == nil || v.Plugin != decision.DynamicResources || v.Code != decision.UnschedulableAndUnresolvable || v.Reasons[0].String() != tt.want {
			t.Errorf("%s: got %+v, want %s", tt.name, v, tt.want)
		}
		s.RemoveResourceClaim("default", "a")
		if _, ok := s.Fork().ResourceClaim("default", "a"); ok {
			t.Errorf("%s: claim a is known after its removal", tt.name)
		}
	}
}
