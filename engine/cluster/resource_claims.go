package cluster

import "github.com/berthproject/berth/engine/model"

// ResourceClaim returns a claim on devices.
func (s *State) ResourceClaim(namespace, name string) (*model.ResourceClaim, bool) {
	return s.resourceClaims.get(namespace + "/" + name)
}

// UpsertResourceClaim takes notice of a claim on devices.
func (s *State) UpsertResourceClaim(c *model.ResourceClaim) {
	s.revision++
	s.resourceClaims.put(c.Namespace+"/"+c.Name, c)
}

// RemoveResourceClaim forgets one.
func (s *State) RemoveResourceClaim(namespace, name string) {
	s.revision++
	s.resourceClaims.del(namespace + "/" + name)
}
