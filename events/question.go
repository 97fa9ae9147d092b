package events

import "strings"

// AllNamespaces stands in the subject of a question for all namespaces. Namespaces are DNS labels, so none has this name.
const AllNamespaces = "_all"

// QuestionSubject is where clients ask the question of this name, about all namespaces: rookery.api.<question>.
func QuestionSubject(name string) string { return APIRoot + "." + name }

// QuestionBy is where a user asks it, about one namespace or AllNamespaces: rookery.api.by.<user>.<namespace>.<question>.
func QuestionBy(user, namespace, name string) string {
	return strings.Join([]string{APIRoot, "by", user, namespace, name}, ".")
}

// QuestionsBy matches where all users ask it.
func QuestionsBy(name string) string { return QuestionBy("*", "*", name) }

// NamespaceAsked returns the namespace that a question on this subject is about alone; "" for all.
func NamespaceAsked(subject string) string {
	const length, by, namespace = 6, 2, 4
	t := strings.Split(subject, ".")
	if len(t) != length || t[by] != "by" || t[namespace] == AllNamespaces {
		return ""
	}
	return t[namespace]
}
