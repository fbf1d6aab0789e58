// Package image brings the images of containers, as the kubelet does: by pull
// policy, one at a time or several, with the pod's pull secrets, and after a
// failure again with a growing pause of 10 s to 5 min for each pod and image.
//
//	Ensure ─▶ there, and the policy is content ─▶ done
//	      └─▶ pause of a failure lasts ─▶ ImagePullBackOff
//	      └─▶ waits its turn ─▶ pulls with each credential that matches ─▶ done, or ErrImagePull
//
// What nobody uses any more is removed by agent/image/gc.
//
// Departures from the kubelet: a pull that waited its turn looks again whether
// another one brought the image meanwhile; images that were pulled with a secret may be used by
// any pod of the node (the kubelet asks for the secret again, since 1.35).
package image
