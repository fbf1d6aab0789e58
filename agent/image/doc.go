// Package image pulls the images of containers with the kubelet's semantics. It implements pull
// policies, serial and parallel pulls, pull secrets, and a backoff of 10 s to 5 min per pod and
// image.
//
//	Ensure ─▶ present, and the policy allows it ─▶ done
//	      └─▶ backoff active ─▶ ImagePullBackOff
//	      └─▶ waits for a slot ─▶ pulls with each matching credential ─▶ done, or ErrImagePull
//
// Package image/gc removes unused images.
//
// Differences from the kubelet: after waiting for a slot, a pull checks again whether the image
// is present. Any pod of the node may use an image that was pulled with a secret; since
// Kubernetes 1.35 the kubelet verifies the secret again.
package image
