package image_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/image"
	"github.com/berthproject/berth/agent/pods"
	"github.com/berthproject/berth/agent/runtime/fake"
)

// fixture is a puller with a fake runtime and clock.
type fixture struct {
	service *fake.Service
	puller  *image.Puller
	now     time.Time
	events  []string
}

func newFixture(change func(*image.Options)) *fixture {
	f := &fixture{service: fake.New(), now: time.Unix(1000, 0)}
	o := image.Options{
		Service: f.service, Now: func() time.Time { return f.now },
		RecordEvent: func(_ *corev1.Pod, container, _, reason, message string) {
			f.events = append(f.events, container+" "+reason+": "+message)
		},
	}
	if change != nil {
		change(&o)
	}
	f.puller = image.New(o)
	return f
}

func pod(uid string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: uid, UID: types.UID(uid)}}
}

func (f *fixture) ensure(uid, name string, policy corev1.PullPolicy) (string, *pods.WaitingError) {
	id, err := f.puller.Ensure(context.Background(), pod(uid), &corev1.Container{Name: "c", Image: name, ImagePullPolicy: policy}, nil)
	var w *pods.WaitingError
	if err != nil && !errors.As(err, &w) {
		w = &pods.WaitingError{Reason: "not a WaitingError", Message: err.Error()}
	}
	return id, w
}

func (f *fixture) pulls() (n int) {
	for _, c := range f.service.Calls() {
		if strings.HasPrefix(c, "PullImage ") {
			n++
		}
	}
	return n
}

func TestPullPolicies(t *testing.T) {
	for name, tc := range map[string]struct {
		image         string
		policy        corev1.PullPolicy
		existing      string
		pulls         int
		reason, event string
	}{
		"absent, if not present":            {image: "app:1", policy: corev1.PullIfNotPresent, pulls: 1, event: "Successfully pulled image \"app:1\" in 0s (0s including waiting). Image size: 1048576 bytes."},
		"present, if not present":           {image: "app:1", policy: corev1.PullIfNotPresent, existing: "app:1", event: "Container image \"app:1\" already present on machine and can be accessed by the pod"},
		"present, always":                   {image: "app:1", policy: corev1.PullAlways, existing: "app:1", pulls: 1, event: "Pulling image \"app:1\""},
		"present, never":                    {image: "app:1", policy: corev1.PullNever, existing: "app:1", event: "already present"},
		"absent, never":                     {image: "app:1", policy: corev1.PullNever, reason: "ErrImageNeverPull", event: "Container image \"app:1\" is not present with pull policy of Never"},
		"no tag and no policy: always":      {image: "app", existing: "app:latest", pulls: 1},
		"tag and no policy: if not present": {image: "app:1", existing: "app:1"},
		"no tag, if not present":            {image: "app", policy: corev1.PullIfNotPresent, existing: "app:latest"},
		"invalid name":                      {image: "App:1", policy: corev1.PullAlways, reason: "InvalidImageName", event: "Failed to apply default image tag \"App:1\": couldn't parse image name \"App:1\": invalid reference format: repository name (library/App) must be lowercase"},
		"invalid name, different error":     {image: "app::", policy: corev1.PullAlways, reason: "InvalidImageName", event: "invalid reference format"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(nil)
			if tc.existing != "" {
				f.service.PutImage(tc.existing, 1<<20)
			}
			id, w := f.ensure("p", tc.image, tc.policy)
			switch {
			case w == nil && (tc.reason != "" || id == ""):
				t.Errorf("got image %q, want reason %q", id, tc.reason)
			case w != nil && w.Reason != tc.reason:
				t.Errorf("got reason %s (%s), want %q", w.Reason, w.Message, tc.reason)
			}
			if f.pulls() != tc.pulls {
				t.Errorf("%d pulls, want %d", f.pulls(), tc.pulls)
			}
			if !strings.Contains(strings.Join(f.events, "\n"), tc.event) {
				t.Errorf("events %q: want one with %q", f.events, tc.event)
			}
		})
	}
}

// TestBackOff checks that the backoff is 10 s, 20 s, ... 5 min per pod and image, and that another
// pod may pull immediately.
func TestBackOff(t *testing.T) {
	f := newFixture(nil)
	notFound := status.Error(codes.NotFound, "no such manifest")
	for i, want := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		f.service.Fail("PullImage", notFound)
		_, w := f.ensure("p", "app:1", corev1.PullAlways)
		if w == nil || w.Reason != "ErrImagePull" || w.Message != "rpc error: code = NotFound desc = no such manifest" {
			t.Fatalf("failure %d: %+v, want ErrImagePull", i, w)
		}
		_, w = f.ensure("p", "app:1", corev1.PullAlways)
		if w == nil || w.Reason != "ImagePullBackOff" || w.Message != "Back-off pulling image \"app:1\": ErrImagePull: rpc error: code = NotFound desc = no such manifest" {
			t.Fatalf("after failure %d: %+v, want ImagePullBackOff", i, w)
		}
		if got := w.RetryAt.Sub(f.now); got != want*time.Second {
			t.Errorf("after failure %d the backoff is %v, want %ds", i, got, want)
		}
		f.now = w.RetryAt
	}
	f.service.Fail("PullImage", notFound)
	if _, w := f.ensure("p", "app:1", corev1.PullAlways); w == nil || w.Reason != "ErrImagePull" {
		t.Errorf("after the last backoff: %+v, want ErrImagePull", w)
	}
	if _, w := f.ensure("q", "app:1", corev1.PullAlways); w != nil {
		t.Errorf("another pod: %+v, want the image", w)
	}
	// Entries expire after 10 minutes without a failure.
	f.now = f.now.Add(10*time.Minute + time.Second)
	f.service.Fail("PullImage", notFound, notFound)
	_, _ = f.ensure("r", "app:1", corev1.PullAlways)
	_, _ = f.ensure("p", "app:1", corev1.PullAlways)
	if _, w := f.ensure("p", "app:1", corev1.PullAlways); w == nil || w.RetryAt.Sub(f.now) != 10*time.Second {
		t.Errorf("after 10 minutes: %+v, want a backoff of 10 s", w)
	}
	if !slices.Contains(f.events, "c Failed: Error: ImagePullBackOff") || !slices.Contains(f.events, "c BackOff: Back-off pulling image \"app:1\"") {
		t.Errorf("events %q, want Failed and BackOff", f.events)
	}
}

func TestFailureReasons(t *testing.T) {
	for text, want := range map[string]string{
		"RegistryUnavailable: i/o timeout":       "image pull failed for app:1 because the registry is unavailable: RegistryUnavailable: i/o timeout",
		"SignatureValidationFailed: unknown key": "image pull failed for app:1 because the signature validation failed: SignatureValidationFailed: unknown key",
		"no space left on device":                "no space left on device",
	} {
		f := newFixture(nil)
		f.service.Fail("PullImage", errors.New(text))
		if _, w := f.ensure("p", "app:1", corev1.PullAlways); w == nil || w.Message != want {
			t.Errorf("error %+v, want message %q", w, want)
		}
	}
	f := newFixture(nil)
	f.service.Fail("ImageStatus", errors.New("unavailable"))
	if _, w := f.ensure("p", "app:1", corev1.PullAlways); w == nil || w.Reason != "ImageInspectError" || w.Message != `Failed to inspect image "app:1": unavailable` {
		t.Errorf("error %+v, want ImageInspectError", w)
	}
}

// blockingService is a runtime whose pulls block until released.
type blockingService struct {
	*fake.Service
	inFlight, total atomic.Int32
	unblock         chan struct{}
}

func (s *blockingService) PullImage(ctx context.Context, i *cri.ImageSpec, auth *cri.AuthConfig, sandbox *cri.PodSandboxConfig) (string, error) {
	s.inFlight.Add(1)
	s.total.Add(1)
	defer s.inFlight.Add(-1)
	<-s.unblock
	return s.Service.PullImage(ctx, i, auth, sandbox)
}

// TestParallelPulls checks that pulls wait for a slot, and that a waiting request does not pull an
// image that another request has pulled.
func TestParallelPulls(t *testing.T) {
	for _, tc := range []struct {
		parallel, images, concurrent, total int
	}{
		{0, 8, 1, 8}, {3, 8, 3, 8}, {-1, 8, 8, 8}, {0, 1, 1, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			service := &blockingService{Service: fake.New(), unblock: make(chan struct{})}
			p := image.New(image.Options{Service: service, MaxParallelPulls: tc.parallel})
			done := make(chan error, 8)
			for i := range 8 {
				go func() {
					name := fmt.Sprint("app:", i%tc.images)
					_, err := p.Ensure(context.Background(), pod(fmt.Sprint(i)), &corev1.Container{Image: name, ImagePullPolicy: corev1.PullIfNotPresent}, nil)
					done <- err
				}()
			}
			synctest.Wait()
			if got := int(service.inFlight.Load()); got != tc.concurrent {
				t.Errorf("parallel %d: %d concurrent pulls, want %d", tc.parallel, got, tc.concurrent)
			}
			close(service.unblock)
			for range 8 {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			if got := int(service.total.Load()); got != tc.total {
				t.Errorf("parallel %d: %d pulls of %d images for 8 pods, want %d", tc.parallel, got, tc.images, tc.total)
			}
		})
	}
}

// TestCredentials checks that all matching credentials are tried, most specific first, and that a
// missing secret is ignored.
func TestCredentials(t *testing.T) {
	config := `{"auths": {
		"https://registry.io/v1/": {"auth": "` + base64.StdEncoding.EncodeToString([]byte("host:pw")) + `"},
		"registry.io/team": {"username": "team", "password": "pw"},
		"*.io": {"username": "glob", "password": "pw"},
		"other.io": {"username": "other", "password": "pw"},
		"https://index.docker.io/v1/": {"username": "hub", "password": "pw"}}}`
	secrets := map[string]*corev1.Secret{
		"new":    {Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{".dockerconfigjson": []byte(config)}},
		"old":    {Type: corev1.SecretTypeDockercfg, Data: map[string][]byte{".dockercfg": []byte(`{"registry.io:5000": {"username": "port", "password": "pw"}}`)}},
		"opaque": {Type: corev1.SecretTypeOpaque},
	}
	for name, want := range map[string][]string{
		"registry.io/team/app:1":  {"team", "host", "glob"},
		"registry.io/teams/app:1": {"host", "glob"},
		"registry.io:5000/app:1":  {"port", "host", "glob"},
		"app:1":                   {"hub", "glob"}, // docker.io
		"quay.test/app:1":         {""},
	} {
		var requests []string
		recorder := authRecorder{pull: func(auth *cri.AuthConfig) { requests = append(requests, auth.GetUsername()) }}
		var events []string
		p := image.New(image.Options{
			Service: recorder,
			Secret: func(_ context.Context, _, name string) (*corev1.Secret, error) {
				if s := secrets[name]; s != nil {
					return s, nil
				}
				return nil, errors.New("not found")
			},
			RecordEvent: func(_ *corev1.Pod, _, _, reason, message string) { events = append(events, reason+": "+message) },
		})
		podWithSecrets := pod("p")
		for _, s := range []string{"new", "old", "opaque", "missing"} {
			podWithSecrets.Spec.ImagePullSecrets = append(podWithSecrets.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: s})
		}
		_, err := p.Ensure(context.Background(), podWithSecrets, &corev1.Container{Image: name}, nil)
		if err == nil || !slices.Equal(requests, want) {
			t.Errorf("%s: requests as users %q (%v), want %q", name, requests, err, want)
		}
		if want := "FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (opaque, missing); attempting to pull the image may not succeed."; !slices.Contains(events, want) {
			t.Errorf("events %q: want %q", events, want)
		}
	}
}

// authRecorder is a runtime that rejects all pulls and records the credentials.
type authRecorder struct {
	*fake.Service
	pull func(*cri.AuthConfig)
}

func (authRecorder) ImageStatus(context.Context, *cri.ImageSpec) (*cri.Image, error) { return nil, nil }
func (r authRecorder) PullImage(_ context.Context, _ *cri.ImageSpec, auth *cri.AuthConfig, _ *cri.PodSandboxConfig) (string, error) {
	r.pull(auth)
	return "", errors.New("denied")
}

// TestCanceledPullIsNotAFailure checks that a pull canceled by the pod's deletion starts no backoff.
func TestCanceledPullIsNotAFailure(t *testing.T) {
	f := newFixture(nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := f.puller.Ensure(ctx, pod("p"), &corev1.Container{Image: "app:1"}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if _, w := f.ensure("p", "app:1", corev1.PullAlways); w != nil {
		t.Errorf("next pull: %+v, want the image", w)
	}
}

func TestList(t *testing.T) {
	s := fake.New()
	for i := range 60 {
		s.PutImage(fmt.Sprintf("app:%02d", i), uint64(i/2))
	}
	list, err := image.List(context.Background(), s, 50)
	if err != nil || len(list) != 50 || list[0].SizeBytes != 29 || list[49].SizeBytes != 5 {
		t.Fatalf("%d images, %v, want the 50 largest", len(list), err)
	}
	if total, err := image.List(context.Background(), s, -1); err != nil || len(total) != 60 {
		t.Errorf("%d images, %v, want all 60", len(total), err)
	}
	if list[0].Names[1] != "app:58" || list[1].Names[1] != "app:59" {
		t.Errorf("first images %v, %v, want app:58 and app:59: images of one size by name", list[0], list[1])
	}
}
