package restapi

import (
	"fmt"
	"io"
	"net/http"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

var patchTypes = []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType}

// patch patches an object or its status.
func (s *Server) patch(q *request) (any, error) {
	stored, err := s.storedObject(q)
	if err != nil {
		return nil, err
	}
	patched, err := q.applyPatch(q.present(stored))
	if err != nil {
		return nil, err
	}
	o, err := q.parse(patched)
	if err != nil {
		return nil, err
	}
	return s.update(q, o)
}

// applyPatch applies the patch in a request to an object.
func (q *request) applyPatch(o any) ([]byte, error) {
	kind := types.PatchType(q.Header.Get("Content-Type"))
	if !slices.Contains(patchTypes, kind) {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
			Message: fmt.Sprintf("patch type %q: must be one of %v in virtual time", kind, patchTypes)}}
	}
	patch, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	original, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var patched []byte
	switch kind {
	case types.JSONPatchType:
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(patch); err == nil {
			patched, err = operations.Apply(original)
		}
	case types.MergePatchType:
		patched, err = jsonpatch.MergePatch(original, patch)
	default:
		patched, err = strategicpatch.StrategicMergePatch(original, patch, o)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("applying a patch of type %s: %v", kind, err))
	}
	return patched, nil
}
