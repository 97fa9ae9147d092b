package pictures

// stat is a big number, or some beside each other with their names.
func stat(c canvas, b box, p panel) bool {
	all := allSeries(p.Panel, p.said)
	looks := p.FieldConfig.Defaults
	for i, s := range all {
		part := box{b.x + i*b.w/len(all), b.y, b.w / len(all), b.h}
		if len(all) > 1 {
			c.centre(s.name, small, dim, box{part.x, part.y + part.h - 18, part.w, 16})
			part.h -= 18
		}
		text := tell(looks.Unit, looks.Decimals, s.last())
		tall := min(48, part.h)
		for tall > medium && c.width(text, tall) > part.w-8 {
			tall -= 2
		}
		c.centre(text, tall, colour(looks.Thresholds, s.last()), part)
	}
	return len(all) > 0
}
