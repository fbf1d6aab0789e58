package renewal

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
)

// TestForbiddenRenewalIsLoggedOnce checks that a component waits while it may not create CertificateSigningRequests.
func TestForbiddenRenewalIsLoggedOnce(t *testing.T) {
	var output bytes.Buffer
	state := klog.CaptureState()
	defer state.Restore()
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	if err := errors.Join(flags.Set("logtostderr", "false"), flags.Set("stderrthreshold", "FATAL")); err != nil {
		t.Fatal(err)
	}
	klog.SetOutput(&output)
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		reviews := 0
		client.PrependReactor("create", "selfsubjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
			switch reviews++; reviews {
			case 1:
				return true, nil, errors.New("away")
			case 3:
				return true, nil, apierrors.NewForbidden(authorizationv1.Resource("selfsubjectaccessreviews"), "", nil)
			}
			return true, &authorizationv1.SelfSubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: reviews > 5}}, nil
		})
		from := time.Now()
		if allowed := awaitPermission(t.Context(), client, "scheduler"); !allowed || reviews != 6 || time.Since(from) != reviewRetryInterval+4*reviewInterval {
			t.Errorf("got %t after %d reviews and %v, want true after 6 reviews", allowed, reviews, time.Since(from))
		}
		reviews = 1
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if awaitPermission(ctx, client, "controller") {
			t.Error("got true after the end of the context")
		}
	})
	klog.Flush()
	if n := strings.Count(output.String(), "may not create CertificateSigningRequests"); n != 2 {
		t.Errorf("logged %d times, want once per component:\n%s", n, output.String())
	}
}
