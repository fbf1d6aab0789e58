package volume

import (
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
)

// TestTokenAgesDuringSuspend checks that the renewal time contains no reading of the monotonic clock,
// which stops during suspend.
func TestTokenAgesDuringSuspend(t *testing.T) {
	client, now := fake.NewClientset(), time.Now()
	if !strings.Contains(now.String(), "m=+") {
		t.Fatalf("%v does not have both clocks", now)
	}
	client.PrependReactor("create", "serviceaccounts", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{Token: "t", ExpirationTimestamp: metav1.NewTime(now.Add(time.Hour))}}, nil
	})
	cache := tokenCache{cached: map[tokenSource]token{}}
	if _, err := cache.get(t.Context(), client, &corev1.Pod{}, tokenSource{volume: "v"}, &corev1.ServiceAccountTokenProjection{}, now); err != nil {
		t.Fatal(err)
	}
	if renew := cache.cached[tokenSource{volume: "v"}].renew; strings.Contains(renew.String(), "m=") || !renew.Equal(now.Add(48*time.Minute)) {
		t.Errorf("the token is renewed at %v, want in 48 minutes of wall-clock time", renew)
	}
}
