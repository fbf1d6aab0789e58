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

// Reasons for which a container waits for its image.
const (
	ReasonInvalidImageName          = "InvalidImageName"
	ReasonImageInspect              = "ImageInspectError"
	ReasonImageNeverPull            = "ErrImageNeverPull"
	ReasonImagePull                 = "ErrImagePull"
	ReasonImagePullBackOff          = "ImagePullBackOff"
	ReasonRegistryUnavailable       = "RegistryUnavailable"
	ReasonSignatureValidationFailed = "SignatureValidationFailed"
)

// Puller brings images. It may be used from many goroutines.
type Puller struct {
	opts    Options
	backoff pullBackoff
	slots   chan struct{} // a place each for pulls under way; nil: any number
}

var _ pods.Images = (*Puller)(nil)

// New makes a Puller.
func New(o Options) *Puller {
	p := &Puller{opts: o.withDefaults()}
	if p.opts.MaxParallelPulls > 0 {
		p.slots = make(chan struct{}, p.opts.MaxParallelPulls)
	}
	return p
}

// pullRequest is one wish for an image.
type pullRequest struct {
	pod        *corev1.Pod
	container  *corev1.Container
	sandbox    *cri.PodSandboxConfig
	image      string // the image's name, with a tag or digest
	repository string
	policy     corev1.PullPolicy
}

// Ensure makes the container's image be there, by its pull policy, and returns its id. An
// error other than ctx's is a *pods.Wait with the reason for the container's state.
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
	have, err := p.opts.Service.ImageStatus(ctx, r.spec())
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", p.waitError(&r, "InspectFailed", ReasonImageInspect, fmt.Sprintf("Failed to inspect image %q: %v", r.image, err))
	}
	switch {
	case have != nil && r.policy != corev1.PullAlways:
		return p.alreadyPresent(&r, have), nil
	case r.policy == corev1.PullNever:
		return "", p.waitError(&r, ReasonImageNeverPull, ReasonImageNeverPull, fmt.Sprintf("Container image %q is not present with pull policy of Never", container.Image))
	}
	return p.pullWithBackoff(ctx, &r)
}

// spec is what the runtime is asked for.
func (r *pullRequest) spec() *cri.ImageSpec {
	return &cri.ImageSpec{Image: r.image, UserSpecifiedImage: r.container.Image}
}

// alreadyPresent says that the image is there already.
func (p *Puller) alreadyPresent(r *pullRequest, have *cri.Image) string {
	p.recordEvent(r, corev1.EventTypeNormal, "Pulled", fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", r.container.Image))
	return have.Id
}

// pullWithBackoff pulls the image, unless a pause after a failure lasts.
func (p *Puller) pullWithBackoff(ctx context.Context, r *pullRequest) (string, error) {
	key := backoffKey{r.pod.UID, r.image}
	if until, why, wait := p.backoff.active(key, p.opts.Now()); wait {
		message := fmt.Sprintf("Back-off pulling image %q", r.container.Image)
		p.recordEvent(r, corev1.EventTypeNormal, "BackOff", message)
		p.recordFailed(r, ReasonImagePullBackOff)
		return "", &pods.WaitingError{Reason: ReasonImagePullBackOff, Message: message + ": " + why, RetryAt: until}
	}
	asked := p.opts.Now()
	if err := p.acquire(ctx); err != nil {
		return "", err
	}
	defer p.release()
	if r.policy != corev1.PullAlways {
		// Another pod may have brought it meanwhile.
		if have, err := p.opts.Service.ImageStatus(ctx, r.spec()); err == nil && have != nil {
			return p.alreadyPresent(r, have), nil
		}
	}
	p.recordEvent(r, corev1.EventTypeNormal, "Pulling", fmt.Sprintf("Pulling image %q", r.container.Image))
	began := p.opts.Now()
	id, err := p.pull(ctx, r)
	if ctx.Err() != nil {
		return "", ctx.Err() // nobody wants it any more: no failure of the image
	}
	ended := p.opts.Now()
	if err != nil {
		reason, message := failureReason(r, err)
		p.recordEvent(r, corev1.EventTypeWarning, "Failed", fmt.Sprintf("Failed to pull image %q: %s", r.container.Image, message))
		p.recordFailed(r, reason)
		p.backoff.addFailure(key, reason+": "+message, ended)
		return "", &pods.WaitingError{Reason: reason, Message: message}
	}
	size := p.size(ctx, r)
	p.opts.OnChange()
	p.opts.Metrics.observePull(size, ended.Sub(began))
	p.recordEvent(r, corev1.EventTypeNormal, "Pulled", fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). Image size: %d bytes.",
		r.container.Image, ended.Sub(began).Truncate(time.Millisecond), ended.Sub(asked).Truncate(time.Millisecond), size))
	return id, nil
}

// acquire waits for this pull's turn.
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

// pull asks for the image with each credential that matches, or with none.
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

// failureReason is the reason and the message of a failed pull. Runtimes put the two special
// reasons into the text of the error.
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

// size of the image in bytes as the runtime has it; 0 when it does not say.
func (p *Puller) size(ctx context.Context, r *pullRequest) uint64 {
	have, err := p.opts.Service.ImageStatus(ctx, r.spec())
	if err != nil || have == nil {
		return 0
	}
	return have.Size
}

// waitError makes the error of a container that cannot have its image, with its event.
func (p *Puller) waitError(r *pullRequest, event, reason, message string) error {
	p.recordEvent(r, corev1.EventTypeWarning, event, message)
	p.recordFailed(r, reason)
	return &pods.WaitingError{Reason: reason, Message: message}
}

// recordFailed records what the kubelet says whenever a container does not start.
func (p *Puller) recordFailed(r *pullRequest, reason string) {
	p.recordEvent(r, corev1.EventTypeWarning, "Failed", "Error: "+reason)
}

func (p *Puller) recordEvent(r *pullRequest, eventType, reason, message string) {
	p.opts.RecordEvent(r.pod, r.container.Name, eventType, reason, message)
}
