package scheduler

import (
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/placement"
)

// honouring is a scheduler that honours holds for two profiles.
func honouring(client *fake.Clientset, e *Election) *shell {
	first, second := placement.DefaultConfig(), placement.DefaultConfig()
	second.Name = "second"
	return &shell{o: Options{Profiles: []placement.Config{first, second}, Election: e}, leases: client, identity: "me"}
}

func TestHoldsAreSaidToBeHonoured(t *testing.T) {
	held := func(by string, age time.Duration) *coordinationv1.Lease {
		at := metav1.NewMicroTime(time.Now().Add(-age))
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.HonourNamespace, Name: v1alpha1.HonourLease},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &by, LeaseDurationSeconds: new(int32(60)), RenewTime: &at}}
	}
	same := &Election{Namespace: v1alpha1.HonourNamespace, Name: v1alpha1.HonourLease}
	for name, tc := range map[string]struct {
		there    *coordinationv1.Lease
		election *Election
		fails    bool
	}{
		"the Lease is made":                        {nil, nil, false},
		"ours is renewed":                          {held("me", time.Minute), nil, false},
		"one that ran out is taken":                {held("another", time.Hour), nil, false},
		"one of another scheduler is left alone":   {held("another", time.Second), nil, true},
		"the Lease of the election gets the words": {held("me", time.Second), same, false},
		"it leads by another Lease":                {nil, &Election{Namespace: "kube-system", Name: "kube-scheduler"}, false},
	} {
		client := fake.NewClientset()
		if tc.there != nil {
			client = fake.NewClientset(tc.there)
		}
		s := honouring(client, tc.election)
		if err := s.sayHonoured(t.Context()); (err != nil) != tc.fails {
			t.Errorf("%s: %v", name, err)
		}
		l, err := client.CoordinationV1().Leases(v1alpha1.HonourNamespace).Get(t.Context(), v1alpha1.HonourLease, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, why := v1alpha1.Honoured(l, time.Now())
		if tc.fails != (len(got) == 0) || !tc.fails && !slices.Equal(got, []string{"default-scheduler", "second"}) {
			t.Errorf("%s: %v, %s", name, got, why)
		}
		s.unsay()
		l, _ = client.CoordinationV1().Leases(v1alpha1.HonourNamespace).Get(t.Context(), v1alpha1.HonourLease, metav1.GetOptions{})
		if gave := l.Spec.HolderIdentity == nil; gave == (tc.fails || tc.election == same) {
			t.Errorf("%s: after an orderly stop it is held by %v", name, l.Spec.HolderIdentity)
		}
	}
}
