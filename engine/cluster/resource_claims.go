package cluster

import "github.com/berthproject/berth/engine/model"

// ResourceClaim returns the ResourceClaim of that name and whether it exists.
func (s *State) ResourceClaim(namespace, name string) (*model.ResourceClaim, bool) {
	return s.resourceClaims.get(namespace + "/" + name)
}

// UpsertResourceClaim adds or updates a ResourceClaim.
func (s *State) UpsertResourceClaim(c *model.ResourceClaim) {
	s.revision++
	s.resourceClaims.put(c.Namespace+"/"+c.Name, c)
}

// RemoveResourceClaim deletes a ResourceClaim.
func (s *State) RemoveResourceClaim(namespace, name string) {
	s.revision++
	s.resourceClaims.del(namespace + "/" + name)
}
