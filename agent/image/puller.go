package image

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/pods"
)

// Waiting reasons of a container whose image is not available.
const (
	ReasonInvalidImageName          = "InvalidImageName"
	ReasonImageInspect              = "ImageInspectError"
	ReasonImageNeverPull            = "ErrImageNeverPull"
	ReasonImagePull                 = "ErrImagePull"
	ReasonImagePullBackOff          = "ImagePullBackOff"
	ReasonRegistryUnavailable       = "RegistryUnavailable"
	ReasonSignatureValidationFailed = "SignatureValidationFailed"
)

// Puller pulls images. It is safe for concurrent use.
type Puller struct {
	opts    Options
	backoff pullBackoff
	slots   chan struct{} // one element per pull in progress; nil: unlimited
}

var _ pods.Images = (*Puller)(nil)

// New returns a Puller.
func New(o Options) *Puller {
	p := &Puller{opts: o.withDefaults()}
	if p.opts.MaxParallelPulls > 0 {
		p.slots = make(chan struct{}, p.opts.MaxParallelPulls)
	}
	return p
}

// pullRequest is a request for the image of a container.
type pullRequest struct {
	pod        *corev1.Pod
	container  *corev1.Container
	sandbox    *cri.PodSandboxConfig
	image      string // image name with a tag or digest
	repository string
	policy     corev1.PullPolicy
}

// Ensure makes the image of the container available according to its pull policy and returns
// the image ID. Errors other than that of ctx are *pods.WaitingError with the reason for the container
// state.
func (p *Puller) Ensure(ctx context.Context, pod *corev1.Pod, container *corev1.Container, sandbox *cri.PodSandboxConfig) (string, error) {
	r := pullRequest{pod: pod, container: container, sandbox: sandbox, policy: container.ImagePullPolicy}
	var err error
	if r.image, r.repository, err = normalizeName(container.Image); err != nil {
		return "", p.waitError(&r, "InspectFailed", ReasonInvalidImageName, fmt.Sprintf("Failed to apply default image tag %q: %v", container.Image, err))
	}
	if r.policy == "" {
		r.policy = corev1.PullIfNotPresent
		if strings.HasSuffix(r.image, ":latest") {
			r.policy = corev1.PullAlways
		}
	}
	existing, err := p.opts.Service.ImageStatus(ctx, r.spec())
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", p.waitError(&r, "InspectFailed", ReasonImageInspect, fmt.Sprintf("Failed to inspect image %q: %v", r.image, err))
	}
	switch {
	case existing != nil && r.policy != corev1.PullAlways:
		return p.recordPresent(&r, existing), nil
	case r.policy == corev1.PullNever:
		return "", p.waitError(&r, ReasonImageNeverPull, ReasonImageNeverPull, fmt.Sprintf("Container image %q is not present with pull policy of Never", container.Image))
	}
	return p.pullWithBackoff(ctx, &r)
}

func (r *pullRequest) spec() *cri.ImageSpec {
	return &cri.ImageSpec{Image: r.image, UserSpecifiedImage: r.container.Image}
}

// recordPresent records the event for an image that is already present and returns its ID.
func (p *Puller) recordPresent(r *pullRequest, existing *cri.Image) string {
	p.recordEvent(r, corev1.EventTypeNormal, "Pulled", fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", r.container.Image))
	return existing.Id
}

// pullWithBackoff pulls the image unless a backoff is active.
func (p *Puller) pullWithBackoff(ctx context.Context, r *pullRequest) (string, error) {
	key := backoffKey{r.pod.UID, r.image}
	if until, failure, active := p.backoff.active(key, p.opts.Now()); active {
		message := fmt.Sprintf("Back-off pulling image %q", r.container.Image)
		p.recordEvent(r, corev1.EventTypeNormal, "BackOff", message)
		p.recordFailed(r, ReasonImagePullBackOff)
		return "", &pods.WaitingError{Reason: ReasonImagePullBackOff, Message: message + ": " + failure, RetryAt: until}
	}
	requestedAt := p.opts.Now()
	if err := p.acquire(ctx); err != nil {
		return "", err
	}
	defer p.release()
	if r.policy != corev1.PullAlways {
		// Another pod may have pulled the image while this one waited for a slot.
		if existing, err := p.opts.Service.ImageStatus(ctx, r.spec()); err == nil && existing != nil {
			return p.recordPresent(r, existing), nil
		}
	}
	p.recordEvent(r, corev1.EventTypeNormal, "Pulling", fmt.Sprintf("Pulling image %q", r.container.Image))
	start := p.opts.Now()
	id, err := p.pull(ctx, r)
	if ctx.Err() != nil {
		return "", ctx.Err() // canceled: not a failure of the image
	}
	finished := p.opts.Now()
	if err != nil {
		reason, message := failureReason(r, err)
		p.recordEvent(r, corev1.EventTypeWarning, "Failed", fmt.Sprintf("Failed to pull image %q: %s", r.container.Image, message))
		p.recordFailed(r, reason)
		p.backoff.addFailure(key, reason+": "+message, finished)
		return "", &pods.WaitingError{Reason: reason, Message: message}
	}
	size := p.size(ctx, r)
	p.opts.OnChange()
	p.opts.Metrics.observePull(size, finished.Sub(start))
	p.recordEvent(r, corev1.EventTypeNormal, "Pulled", fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). Image size: %d bytes.",
		r.container.Image, finished.Sub(start).Truncate(time.Millisecond), finished.Sub(requestedAt).Truncate(time.Millisecond), size))
	return id, nil
}

// acquire waits for a pull slot.
func (p *Puller) acquire(ctx context.Context) error {
	if p.slots == nil {
		return nil
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Puller) release() {
	if p.slots != nil {
		<-p.slots
	}
}

// pull pulls the image with each matching credential until a pull succeeds. It pulls without
// credentials if none matches.
func (p *Puller) pull(ctx context.Context, r *pullRequest) (string, error) {
	auths, unusable := p.credentials(ctx, r.pod, r.repository)
	if len(unusable) > 0 {
		p.recordEvent(r, corev1.EventTypeWarning, "FailedToRetrieveImagePullSecret",
			fmt.Sprintf("Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.", strings.Join(unusable, ", ")))
	}
	if len(auths) == 0 {
		auths = append(auths, nil)
	}
	var errs []error
	for _, auth := range auths {
		id, err := p.opts.Service.PullImage(ctx, r.spec(), auth, r.sandbox)
		if err == nil || ctx.Err() != nil {
			return id, err
		}
		errs = append(errs, err)
	}
	if len(errs) == 1 {
		return "", errs[0]
	}
	return "", errors.Join(errs...)
}

// failureReason returns the reason and message of a failed pull. The error text of the runtime
// contains RegistryUnavailable or SignatureValidationFailed if one of them is the reason.
func failureReason(r *pullRequest, err error) (reason, message string) {
	switch text := err.Error(); {
	case strings.Contains(text, ReasonRegistryUnavailable):
		return ReasonRegistryUnavailable, fmt.Sprintf("image pull failed for %s because the registry is unavailable: %s", r.container.Image, text)
	case strings.Contains(text, ReasonSignatureValidationFailed):
		return ReasonSignatureValidationFailed, fmt.Sprintf("image pull failed for %s because the signature validation failed: %s", r.container.Image, text)
	default:
		return ReasonImagePull, text
	}
}

// size returns the image size in bytes, 0 if unknown.
func (p *Puller) size(ctx context.Context, r *pullRequest) uint64 {
	img, err := p.opts.Service.ImageStatus(ctx, r.spec())
	if err != nil || img == nil {
		return 0
	}
	return img.Size
}

// waitError records the event and returns the error of an unavailable image.
func (p *Puller) waitError(r *pullRequest, event, reason, message string) error {
	p.recordEvent(r, corev1.EventTypeWarning, event, message)
	p.recordFailed(r, reason)
	return &pods.WaitingError{Reason: reason, Message: message}
}

// recordFailed records the kubelet's event for a container that cannot start.
func (p *Puller) recordFailed(r *pullRequest, reason string) {
	p.recordEvent(r, corev1.EventTypeWarning, "Failed", "Error: "+reason)
}

func (p *Puller) recordEvent(r *pullRequest, eventType, reason, message string) {
	p.opts.RecordEvent(r.pod, r.container.Name, eventType, reason, message)
}
