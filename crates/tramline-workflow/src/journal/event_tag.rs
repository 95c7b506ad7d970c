//! Decodes an event by its tag: the tag alone says whether it belongs to a run or an SOP session.
//!
//! Both kinds share one set of tags in the journal, so an event is decoded without being buffered.

use super::{Event, RunEvent, SopEvent};
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor,
};
use std::fmt;

/// The tags of all events. Those of SOP sessions come last.
const TAGS: [&str; 20] = [
    "Started",
    "Resumed",
    "StepStarted",
    "Spread",
    "Gathered",
    "Waiting",
    "AttemptFailed",
    "StepFinished",
    "StepFailed",
    "Paused",
    "Answered",
    "Watched",
    "Amended",
    "Finished",
    "Guided",
    "Moved",
    "Noted",
    "ToolCalled",
    "ToolAnswered",
    "Refused",
];
/// Where the tags of SOP sessions begin.
const FIRST_SOP_TAG: usize = 14;

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(EventVisitor)
    }
}

struct EventVisitor;

impl<'de> Visitor<'de> for EventVisitor {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        let Some(tag) = map.next_key_seed(TagSeed)? else {
            return Err(Error::custom("an event has a tag"));
        };
        let is_sop = tag >= FIRST_SOP_TAG;
        let tagged = MapAccessDeserializer::new(TaggedMap {
            tag: Some(TAGS[tag]),
            map,
        });
        match is_sop {
            true => SopEvent::deserialize(tagged).map(Event::Sop),
            false => RunEvent::deserialize(tagged).map(Event::Run),
        }
    }
}

/// Reads a tag as its position in [`TAGS`].
struct TagSeed;

impl<'de> DeserializeSeed<'de> for TagSeed {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<usize, D::Error> {
        from.deserialize_identifier(self)
    }
}

impl Visitor<'_> for TagSeed {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the tag of an event")
    }

    fn visit_str<E: Error>(self, tag: &str) -> Result<usize, E> {
        let known = TAGS.iter().position(|known| *known == tag);
        known.ok_or_else(|| E::unknown_variant(tag, &TAGS))
    }
}

/// A map whose first key has been read already.
struct TaggedMap<A> {
    tag: Option<&'static str>,
    map: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for TaggedMap<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        match self.tag.take() {
            Some(tag) => seed.deserialize(tag.into_deserializer()).map(Some),
            None => self.map.next_key_seed(seed),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
