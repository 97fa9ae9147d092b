package undescribed // want: revive "package comment"

// Name gives importers something to use.
const Name = "undescribed"
