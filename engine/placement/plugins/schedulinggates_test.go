package plugins_test

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/plugins"
	"github.com/berthproject/berth/internal/testkit/build"
)

func TestPodsWithResourceClaimsAreGated(t *testing.T) {
	const notAllocated = `spec.resourceClaims: ResourceClaim "default/a": devices are not allocated yet; remove the claim to place the pod without them`
	tests := []struct {
		name         string
		claims       []model.PodResourceClaim
		claimObjects []model.ResourceClaim
		want         string
	}{
		{"missing", []model.PodResourceClaim{{Name: "c", Claim: "a"}}, nil, `could not find ResourceClaim "default/a"`},
		{"the second is missing", []model.PodResourceClaim{{Claim: "a"}, {Claim: "b"}}, []model.ResourceClaim{{Name: "a"}},
			`could not find ResourceClaim "default/b"`},
		{"existing claim", []model.PodResourceClaim{{Claim: "a"}}, []model.ResourceClaim{{Name: "a"}}, notAllocated},
		{"being deleted", []model.PodResourceClaim{{Claim: "a"}}, []model.ResourceClaim{{Name: "a", Deleting: true}}, `resourceclaim "a" is being deleted`},
		{"not created yet", []model.PodResourceClaim{{Name: "c", Template: "t"}}, nil, `pod "default/p": ResourceClaim not created yet`},
		{"created for another pod", []model.PodResourceClaim{{Claim: "a", Template: "t"}}, []model.ResourceClaim{{Name: "a", Owner: model.Owner{UID: "x"}}},
			`ResourceClaim default/a was not created for Pod default/p (Pod is not owner)`},
		{"created for the pod", []model.PodResourceClaim{{Claim: "a", Template: "t"}}, []model.ResourceClaim{{Name: "a", Owner: model.Owner{UID: "p"}}}, notAllocated},
		{"neither claim nor template", []model.PodResourceClaim{{Name: "c"}}, nil, `pod "default/p", spec.resourceClaim "c": none of the supported fields are set`},
	}
	for _, tc := range tests {
		s := build.NewState(build.Node("n"))
		for i := range tc.claimObjects {
			tc.claimObjects[i].Namespace = "default"
			s.UpsertResourceClaim(&tc.claimObjects[i])
		}
		v := plugins.PreEnqueue(profile(t), s, build.Pod("p", build.Spec(func(s *model.PodSpec) { s.ResourceClaims = tc.claims })))
		if v == nil || v.Plugin != decision.DynamicResources || v.Code != decision.UnschedulableAndUnresolvable || v.Reasons[0].String() != tc.want {
			t.Errorf("%s: got %+v, want %s", tc.name, v, tc.want)
		}
		s.RemoveResourceClaim("default", "a")
		if _, ok := s.Fork().ResourceClaim("default", "a"); ok {
			t.Errorf("%s: ResourceClaim a exists after its removal", tc.name)
		}
	}
}
