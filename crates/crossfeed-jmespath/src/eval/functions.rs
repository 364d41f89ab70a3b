//! Evaluates functions.

use super::{
    Budget, Cost, EvalError, EvalResult, Evaluator, ITEM_STEPS, TypeMismatch,
    compare::{equal, order},
    number::{order_numbers, order_short, short_of},
};
use crate::{
    compile::Node,
    function::Function,
    view::{MEMBER_BYTES, Repr, View},
};
use crossfeed_json::{Kind, is_number, short_number};
use elsa::FrozenMap;
use std::{borrow::Cow, cmp::Ordering, collections::HashMap, rc::Rc};

/// A call under evaluation, for its type errors.
pub(super) struct Call<'e, 'a, 'b> {
    pub(super) evaluator: &'e Evaluator<'a, 'b>,
    pub(super) budget: &'b Budget,
    function: Function,
}

impl<'a> Evaluator<'a, '_> {
    #[inline(never)]
    pub(super) fn call(
        &self,
        function: Function,
        arguments: &'a [Node],
        current: &View<'a>,
    ) -> EvalResult<'a> {
        let call = Call {
            evaluator: self,
            budget: self.budget,
            function,
        };
        if function == Function::NotNull {
            for argument in arguments {
                let value = self.eval(argument, current)?;
                if !value.is_null() {
                    return Ok(value);
                }
            }
            return Ok(View::null());
        }
        match arguments {
            _ if function == Function::Merge => {
                let values = arguments.iter().map(|node| self.eval(node, current));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                for (place, value) in values.iter().enumerate() {
                    call.refuse_reference(place, value)?;
                }
                call.merge(&values)
            }
            [one] => {
                let one = self.eval(one, current)?;
                call.refuse_reference(0, &one)?;
                call.unary(&one)
            }
            [first, second] => {
                let first = self.eval(first, current)?;
                let second = self.eval(second, current)?;
                call.refuse_reference(0, &first)?;
                call.refuse_reference(1, &second)?;
                call.binary(&first, &second)
            }
            // The arity was checked when the expression was parsed.
            _ => Ok(View::null()),
        }
    }
}

impl<'a> Call<'_, 'a, '_> {
    /// An error if an argument that must be a value is `&expression`.
    fn refuse_reference(&self, place: usize, value: &View<'a>) -> Result<(), EvalError> {
        let takes_reference = matches!(
            (self.function, place),
            (Function::Map, 0) | (Function::MaxBy | Function::MinBy | Function::SortBy, 1)
        );
        if !takes_reference && matches!(value.0, Repr::Reference(_)) {
            return Err(self.mismatch(place, "a value", "expression"));
        }
        Ok(())
    }

    pub(super) fn mismatch(
        &self,
        place: usize,
        expected: &'static str,
        found: &'static str,
    ) -> EvalError {
        EvalError::Type(Box::new(TypeMismatch {
            function: self.function.name(),
            argument: place + 1,
            expected,
            found,
        }))
    }

    fn wrong(&self, place: usize, expected: &'static str, value: &View<'_>) -> EvalError {
        self.mismatch(place, expected, type_name(value))
    }

    fn unary(&self, value: &View<'a>) -> EvalResult<'a> {
        match self.function {
            Function::Abs | Function::Ceil | Function::Floor => self.rounded(value),
            Function::Avg => self.average(value),
            Function::Sum => self.sum(value).map(|sum| sum.into_view()),
            Function::Keys => {
                self.object(0, value)?;
                let mut keys = self.evaluator.list_of(count(value))?;
                if let Some(object) = value.as_cursor() {
                    for (key, _) in object.members() {
                        keys.push(match key.text() {
                            Cow::Borrowed(text) => {
                                self.budget.build_text(text.len())?;
                                View(Repr::Str(text))
                            }
                            Cow::Owned(text) => self.built(&text)?,
                        });
                    }
                } else {
                    for (key, _) in value.members() {
                        keys.push(self.built(&key)?);
                    }
                }
                self.list(keys)
            }
            Function::Values => {
                self.object(0, value)?;
                Ok(View::list(self.paid(value, Kind::Object)?))
            }
            Function::Length => match value.kind() {
                Kind::String => {
                    let text = self.string(0, value)?;
                    Ok(integer(text.chars().count()))
                }
                Kind::Array | Kind::Object => Ok(integer(count(value))),
                _ => Err(self.wrong(0, "a string, array or object", value)),
            },
            Function::Lines => self.lines(value),
            Function::Max => self.extreme(value, Ordering::Greater),
            Function::Min => self.extreme(value, Ordering::Less),
            Function::Reverse => match value.kind() {
                Kind::String => {
                    let text = self.string(0, value)?;
                    self.evaluator.reserve(text.len())?;
                    let mut reversed = String::with_capacity(text.len());
                    reversed.extend(text.chars().rev());
                    let built = self.built(&reversed)?;
                    self.release(text.len());
                    Ok(built)
                }
                Kind::Array => {
                    let mut items = self.paid(value, Kind::Array)?;
                    items.reverse();
                    Ok(View::list(items))
                }
                _ => Err(self.wrong(0, "a string or an array", value)),
            },
            Function::Sort => {
                let items = self.comparable_items(0, value)?;
                self.sorted(&items, &items)
            }
            Function::ToArray => {
                if value.kind() == Kind::Array {
                    return Ok(value.clone());
                }
                let mut items = self.evaluator.list_of(1)?;
                items.push(value.clone());
                self.list(items)
            }
            Function::ToNumber => match value.kind() {
                Kind::Number => Ok(value.clone()),
                Kind::String => {
                    let text = self.string(0, value)?;
                    if !is_number(&text) {
                        return Ok(View::null());
                    }
                    self.budget.build_text(text.len())?;
                    self.evaluator.reserve(text.len())?;
                    Ok(View(Repr::Digits(text.as_ref().into())))
                }
                _ => Ok(View::null()),
            },
            Function::ToString => {
                if value.kind() == Kind::String {
                    return Ok(value.clone());
                }
                value.unfold(self.budget)?;
                let limit = self.budget.text_left();
                // Allocated once, because a growing buffer exists twice. Without blanks it may need less.
                let most = match value.written_len(limit) {
                    Some(most) => most,
                    None => {
                        value.look_through(self.budget)?;
                        limit
                    }
                };
                self.evaluator.reserve(most)?;
                let mut json = Vec::with_capacity(most);
                value
                    .write_with(&mut json, limit, true)
                    .map_err(|error| Cost::Text { limit: error.limit })?;
                // JSON is UTF-8.
                let built = self.built(std::str::from_utf8(&json).unwrap_or_default())?;
                self.release(most);
                Ok(built)
            }
            Function::Type => Ok(View(Repr::Str(type_name(value)))),
            // The arity was checked when the expression was parsed.
            _ => Ok(View::null()),
        }
    }

    fn binary(&self, first: &View<'a>, second: &View<'a>) -> EvalResult<'a> {
        match self.function {
            Function::Contains => self.contains(first, second),
            Function::StartsWith | Function::EndsWith => {
                let (text, part) = (self.string(0, first)?, self.string(1, second)?);
                let found = match self.function {
                    Function::StartsWith => text.starts_with(&*part),
                    _ => text.ends_with(&*part),
                };
                Ok(View::bool(found))
            }
            Function::Join => self.join(first, second),
            Function::Map => {
                let each = self.reference(0, first)?;
                self.array(1, second)?;
                let mut items = self.evaluator.list_of(count(second))?;
                for item in second.items() {
                    items.push(self.evaluator.eval(each, &item)?);
                }
                self.list(items)
            }
            Function::Match => self.matches(first, second),
            Function::Split => self.split(first, second),
            Function::MaxBy => self.extreme_by(first, second, Ordering::Greater),
            Function::MinBy => self.extreme_by(first, second, Ordering::Less),
            Function::SortBy => {
                if let Some(rows) = self.evaluator.numbered(first, second)? {
                    let items = count(first);
                    self.reserve_each(items, size_of::<View<'a>>())?;
                    let sorting = self.reserve_each(items, SORTING_BYTES)?;
                    let sorted = rows.sorted(self.budget)?;
                    self.release(sorting);
                    return Ok(View::list(sorted));
                }
                let (mut keys, mut items) = (Vec::new(), Vec::new());
                self.keyed(first, second, |key, item| {
                    self.evaluator.push(&mut keys, key)?;
                    self.evaluator.push(&mut items, item)
                })?;
                self.sorted(&keys, &items)
            }
            // The arity was checked when the expression was parsed.
            _ => Ok(View::null()),
        }
    }

    /// A list that was built, paid for.
    pub(super) fn list(&self, items: Vec<View<'a>>) -> EvalResult<'a> {
        let steps = ITEM_STEPS * items.len() as u64;
        self.budget.spend(steps)?;
        Ok(View::list(items))
    }

    /// The values of a list or an object, paid for as the items of a new list.
    fn paid(&self, source: &View<'a>, kind: Kind) -> Result<Vec<View<'a>>, Cost> {
        self.budget.spend(ITEM_STEPS * count(source) as u64)?;
        self.collected(source, kind)
    }

    /// The values of a list or an object.
    fn collected(&self, source: &View<'a>, kind: Kind) -> Result<Vec<View<'a>>, Cost> {
        let mut list = self.evaluator.list_of(count(source))?;
        list.extend(source.all_within(kind));
        Ok(list)
    }

    /// A text that is built, paid for before.
    pub(super) fn built(&self, text: &str) -> EvalResult<'a> {
        self.budget.build_text(text.len())?;
        self.evaluator.reserve(text.len())?;
        Ok(View::text(text))
    }

    /// Frees intermediate values.
    fn release(&self, bytes: usize) {
        self.evaluator.arena.reservation().release(bytes);
    }

    /// Takes room for `bytes` for each of `items`, and returns the sum.
    fn reserve_each(&self, items: usize, bytes: usize) -> Result<usize, Cost> {
        let bytes = items.saturating_mul(bytes);
        self.evaluator.reserve(bytes)?;
        Ok(bytes)
    }

    /// Items in the order of their keys, which are all numbers or all strings; each key is read
    /// once.
    fn sorted(&self, keys: &[View<'a>], items: &[View<'a>]) -> EvalResult<'a> {
        let budget = self.budget;
        pay_sorting(items.len(), budget)?;
        let mut sorting = self.reserve_each(items.len(), SORTING_BYTES)?;
        let mut places: Vec<usize> = (0..keys.len()).collect();
        let numbers: Option<Vec<_>> = keys.iter().map(short_of).collect();
        if let Some(numbers) = numbers {
            places = sorted_places(&numbers);
        } else if keys.iter().all(|key| key.kind() == Kind::Number) {
            let read = keys.iter().map(|key| key.text_len() as u64 / 64).sum();
            budget.spend(rounds(keys.len()).saturating_mul(read))?;
            places.sort_by(|&a, &b| order_numbers(&keys[a], &keys[b]));
        } else {
            sorting += self.reserve_each(items.len(), SORTING_TEXT_BYTES)?;
            let decoded = DecodedTexts::default();
            let texts: Result<Vec<_>, _> = keys
                .iter()
                .map(|key| decoded.text(key, self.evaluator))
                .collect();
            sort_texts(&mut places, &texts?, budget)?;
        }
        let mut sorted = self.evaluator.list_of(items.len())?;
        sorted.extend(places.into_iter().map(|place| items[place].clone()));
        self.release(sorting);
        Ok(View::list(sorted))
    }

    pub(super) fn string<'v>(
        &self,
        place: usize,
        value: &'v View<'a>,
    ) -> Result<Cow<'v, str>, EvalError> {
        self.budget.read_text(value.text_len())?;
        value
            .as_str()
            .ok_or_else(|| self.wrong(place, "a string", value))
    }

    fn object(&self, place: usize, value: &View<'a>) -> Result<(), EvalError> {
        match value.kind() {
            Kind::Object => Ok(()),
            _ => Err(self.wrong(place, "an object", value)),
        }
    }

    fn array(&self, place: usize, value: &View<'a>) -> Result<(), EvalError> {
        match value.kind() {
            Kind::Array => Ok(()),
            _ => Err(self.wrong(place, "an array", value)),
        }
    }

    fn reference(&self, place: usize, value: &View<'a>) -> Result<&'a Node, EvalError> {
        match &value.0 {
            Repr::Reference(node) => Ok(node),
            _ => Err(self.wrong(place, "an expression such as `&name`", value)),
        }
    }

    /// The items of a list that are all numbers, or all strings.
    fn comparable_items(&self, place: usize, value: &View<'a>) -> Result<Vec<View<'a>>, EvalError> {
        self.array(place, value)?;
        self.budget.spend(count(value) as u64)?;
        let items = self.collected(value, Kind::Array)?;
        let kind = items.first().map_or(Kind::Number, View::kind);
        let odd = items.iter().find(|item| {
            item.kind() != kind || !matches!(item.kind(), Kind::Number | Kind::String)
        });
        match odd {
            None => Ok(items),
            Some(odd) => Err(self.wrong(place, "an array of numbers or of strings", odd)),
        }
    }

    /// Hands out the items of a list, each after the number or string that an expression gives on
    /// it.
    fn keyed(
        &self,
        list: &View<'a>,
        by: &View<'a>,
        mut use_item: impl FnMut(View<'a>, View<'a>) -> Result<(), Cost>,
    ) -> Result<(), EvalError> {
        self.array(0, list)?;
        let by = self.reference(1, by)?;
        let mut kind = None;
        for item in list.items() {
            let key = self.evaluator.eval(by, &item)?;
            let wanted = *kind.get_or_insert(key.kind());
            if key.kind() != wanted || !matches!(wanted, Kind::Number | Kind::String) {
                let expected = "an expression that gives numbers, or strings, throughout";
                return Err(self.wrong(1, expected, &key));
            }
            self.budget.spend(ITEM_STEPS)?;
            use_item(key, item)?;
        }
        Ok(())
    }

    fn extreme(&self, value: &View<'a>, wanted: Ordering) -> EvalResult<'a> {
        let mut best = Extreme::new(wanted);
        for item in self.comparable_items(0, value)? {
            best.offer(&item, &item, self.budget)?;
        }
        Ok(best.item())
    }

    fn extreme_by(&self, list: &View<'a>, by: &View<'a>, wanted: Ordering) -> EvalResult<'a> {
        if let Some(rows) = self.evaluator.numbered(list, by)? {
            return Ok(rows.extreme(wanted));
        }
        let mut best = Extreme::new(wanted);
        self.keyed(list, by, |key, item| best.offer(&key, &item, self.budget))?;
        Ok(best.item())
    }

    fn contains(&self, subject: &View<'a>, wanted: &View<'a>) -> EvalResult<'a> {
        match subject.kind() {
            Kind::String => {
                let text = self.string(0, subject)?;
                self.budget.read_text(wanted.text_len())?;
                Ok(View::bool(
                    wanted.as_str().is_some_and(|part| text.contains(&*part)),
                ))
            }
            Kind::Array => {
                for item in subject.items() {
                    if equal(&item, wanted, self.budget)? {
                        return Ok(View::bool(true));
                    }
                }
                Ok(View::bool(false))
            }
            _ => Err(self.wrong(0, "a string or an array", subject)),
        }
    }

    fn join(&self, glue: &View<'a>, list: &View<'a>) -> EvalResult<'a> {
        let glue = self.string(0, glue)?;
        self.array(1, list)?;
        let mut text = Vec::new();
        for (index, item) in list.items().enumerate() {
            self.budget.read_text(item.text_len())?;
            let part = item
                .as_str()
                .ok_or_else(|| self.wrong(1, "an array of strings", &item))?;
            let glue = if index > 0 { &*glue } else { "" };
            self.budget.build_text(glue.len() + part.len())?;
            self.budget.spend(1)?;
            let reservation = self.evaluator.arena.reservation();
            reservation.grow_by(&mut text, glue.len() + part.len())?;
            text.extend_from_slice(glue.as_bytes());
            text.extend_from_slice(part.as_bytes());
        }
        self.evaluator.reserve(text.len())?;
        let joined = View::text(std::str::from_utf8(&text).unwrap_or_default());
        self.release(text.capacity());
        Ok(joined)
    }

    /// Members of all objects; of one key the last value, at the place of the first.
    fn merge(&self, objects: &[View<'a>]) -> EvalResult<'a> {
        let mut places: HashMap<String, usize> = HashMap::new();
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (place, object) in objects.iter().enumerate() {
            self.object(place, object)?;
            for (key, value) in object.members() {
                self.budget.build_text(key.len())?;
                self.budget.spend(ITEM_STEPS)?;
                self.evaluator.reserve(2 * key.len() + MEMBER_BYTES)?;
                if let Some(&at) = places.get(&*key) {
                    values[at] = value;
                } else {
                    places.insert(key.clone().into_owned(), values.len());
                    keys.push(Cow::Owned(key.into_owned()));
                    values.push(value);
                }
            }
        }
        Ok(View(Repr::Object(Rc::new(keys), Rc::new(values))))
    }

    fn rounded(&self, value: &View<'a>) -> EvalResult<'a> {
        self.budget.read_text(value.text_len())?;
        let digits = value
            .digits()
            .ok_or_else(|| self.wrong(0, "a number", value))?;
        let is_integer = !digits.contains(['.', 'e', 'E']);
        match self.function {
            Function::Abs => Ok(match digits.strip_prefix('-') {
                Some(rest) => {
                    self.budget.build_text(rest.len())?;
                    self.evaluator.reserve(rest.len())?;
                    View(Repr::Digits(rest.into()))
                }
                None => value.clone(),
            }),
            _ if is_integer => Ok(value.clone()),
            Function::Ceil => Ok(float(float_of(&digits).ceil())),
            _ => Ok(float(float_of(&digits).floor())),
        }
    }

    fn sum(&self, value: &View<'a>) -> Result<Sum, EvalError> {
        self.array(0, value)?;
        let budget = self.budget;
        budget.spend(count(value) as u64)?;
        if let Some(odd) = value.items().find(|item| item.kind() != Kind::Number) {
            return Err(self.wrong(0, "an array of numbers", &odd));
        }
        let mut sum = Sum::Integer(0);
        for item in value.items() {
            let digits = item.digits().unwrap_or_default();
            sum = match short_number(digits.as_bytes()) {
                Some(short) => sum.add((!digits.contains('.')).then_some(short as i64), short),
                None => {
                    budget.read_text(item.text_len())?;
                    sum.add(digits.parse().ok(), float_of(&digits))
                }
            };
        }
        match sum {
            Sum::Float(total) if !total.is_finite() => {
                let expected = "numbers with a sum in the range of 64-bit floats";
                Err(self.mismatch(0, expected, "larger ones"))
            }
            sum => Ok(sum),
        }
    }

    fn average(&self, value: &View<'a>) -> EvalResult<'a> {
        let sum = self.sum(value)?;
        let items = count(value);
        if items == 0 {
            return Ok(View::null());
        }
        Ok(match sum {
            Sum::Integer(total) if total % items as i128 == 0 => {
                Sum::Integer(total / items as i128).into_view()
            }
            Sum::Integer(total) => float(total as f64 / items as f64),
            Sum::Float(total) => float(total / items as f64),
        })
    }
}

/// The first of the largest or smallest items so far.
struct Extreme<'a> {
    /// How the key of a better item compares with this one's.
    wanted: Ordering,
    /// The key, as a float too if it is a short number, and the item.
    found: Option<(View<'a>, Option<f64>, View<'a>)>,
}

impl<'a> Extreme<'a> {
    fn new(wanted: Ordering) -> Self {
        Self {
            wanted,
            found: None,
        }
    }

    #[inline]
    fn offer(&mut self, key: &View<'a>, item: &View<'a>, budget: &Budget) -> Result<(), Cost> {
        let short = short_of(key);
        let order = match (&self.found, short) {
            (None, _) => Some(self.wanted),
            (Some((_, Some(best), _)), Some(short)) => Some(order_short(short, *best)),
            (Some((best, ..)), _) => order(key, best, budget)?,
        };
        if order == Some(self.wanted) {
            self.found = Some((key.clone(), short, item.clone()));
        }
        Ok(())
    }

    fn item(self) -> View<'a> {
        self.found.map_or(View::null(), |(.., item)| item)
    }
}

/// Takes the steps for sorting this many items.
pub(super) fn pay_sorting(items: usize, budget: &Budget) -> Result<(), Cost> {
    let count = items as u64;
    budget.spend(count * rounds(items))?;
    budget.spend(ITEM_STEPS * count)
}

/// The indexes of numbers in ascending order.
pub(super) fn sorted_places(numbers: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..numbers.len()).collect();
    places.sort_by(|&a, &b| order_short(numbers[a], numbers[b]));
    places
}

/// How often an item is compared while as many are sorted.
fn rounds(items: usize) -> u64 {
    u64::from(items.max(1).ilog2())
}

/// Long strings with escapes, decoded: each once, however often it occurs.
#[derive(Default)]
struct DecodedTexts(FrozenMap<usize, Vec<u8>>);

impl DecodedTexts {
    fn text<'v>(
        &'v self,
        key: &'v View<'_>,
        evaluator: &Evaluator<'_, '_>,
    ) -> Result<Cow<'v, [u8]>, Cost> {
        let budget = evaluator.budget;
        let Repr::Json(cursor) = &key.0 else {
            return Ok(key.string_bytes().unwrap_or_default());
        };
        let raw = cursor.raw();
        if raw.len() < HEAD {
            return Ok(key.string_bytes().unwrap_or_default());
        }
        let place = raw.as_ptr() as usize;
        if let Some(text) = self.0.get(&place) {
            return Ok(Cow::Borrowed(text));
        }
        budget.read_text(raw.len())?;
        evaluator.reserve(raw.len())?;
        Ok(match key.string_bytes().unwrap_or_default() {
            Cow::Owned(text) => {
                budget.build_text(text.len())?;
                Cow::Borrowed(self.0.insert(place, text))
            }
            text => text,
        })
    }
}

/// The memory of sorting per item: its index, its number, and half as much again to move them.
const SORTING_BYTES: usize = 48;
/// The further memory per text: its address, and a short decoded copy.
const SORTING_TEXT_BYTES: usize = 160;

/// Bytes of a text by which texts are sorted before those that begin alike are paid for.
const HEAD: usize = 64;

fn sort_texts(places: &mut [usize], texts: &[Cow<'_, [u8]>], budget: &Budget) -> Result<(), Cost> {
    if texts.iter().all(|text| text.len() <= HEAD) {
        places.sort_by(|&a, &b| texts[a].cmp(&texts[b]));
        return Ok(());
    }
    let head = |place: usize| {
        let text = &*texts[place];
        text.get(..HEAD).unwrap_or(text)
    };
    places.sort_by(|&a, &b| head(a).cmp(head(b)));
    for alike in places.chunk_by_mut(|&a, &b| head(a) == head(b)) {
        if alike.len() > 1 {
            let read = alike.iter().map(|&at| texts[at].len() as u64 / 64).sum();
            budget.spend(rounds(alike.len()).saturating_mul(read))?;
            alike.sort_by(|&a, &b| texts[a].cmp(&texts[b]));
        }
    }
    Ok(())
}

/// A sum: exact while all numbers are integers that fit.
enum Sum {
    Integer(i128),
    Float(f64),
}

impl Sum {
    /// Adds a number, as an integer too if it is one that fits.
    #[inline]
    fn add(self, integer: Option<i64>, float: f64) -> Self {
        match self {
            Self::Integer(sum) => match integer.and_then(|n| sum.checked_add(n.into())) {
                Some(sum) => Self::Integer(sum),
                None => Self::Float(sum as f64 + float),
            },
            Self::Float(sum) => Self::Float(sum + float),
        }
    }

    fn into_view<'a>(self) -> View<'a> {
        match self {
            Self::Integer(sum) => match i64::try_from(sum) {
                Ok(sum) => View(Repr::Integer(sum)),
                Err(_) => View(Repr::Digits(sum.to_string().into())),
            },
            Self::Float(sum) => float(sum),
        }
    }
}

/// The nearest 64-bit float; infinite beyond its range.
fn float_of(digits: &str) -> f64 {
    digits.parse().unwrap_or(f64::NAN)
}

/// A computed number: as an integer if it is one, null beyond the range of floats.
fn float<'a>(n: f64) -> View<'a> {
    if !n.is_finite() {
        return View::null();
    }
    // Up to 2^53 every integer is a float of its own.
    if n.fract() == 0.0 && n.abs() <= 9_007_199_254_740_992.0 {
        return View(Repr::Integer(n as i64));
    }
    View(Repr::Float(n))
}

fn integer<'a>(n: usize) -> View<'a> {
    View(Repr::Integer(i64::try_from(n).unwrap_or(i64::MAX)))
}

/// Number of items or members; 0 for scalars.
fn count(value: &View<'_>) -> usize {
    value.len().unwrap_or_default()
}

fn type_name(value: &View<'_>) -> &'static str {
    match &value.0 {
        Repr::Reference(_) => "expression",
        _ => value.kind().as_str(),
    }
}
