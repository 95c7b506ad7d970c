//! A simulated shop: answers lookups and applies changes by the shop's policy and tools.

use serde_json::{Map, Value as Json, json};
use std::collections::HashMap;
use std::sync::Arc;
use tramline_expr::Value;
use tramline_expr::{Expression, HostFunctions, Limits, NoHost};

mod writes;

/// The shop's initial records.
pub struct ShopRecords {
    products: Map<String, Json>,
    users: Map<String, Json>,
    orders: Map<String, Json>,
}

impl ShopRecords {
    /// Parses `db.json`.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut all: Map<String, Json> =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut part = |key: &str| match all.remove(key) {
            Some(Json::Object(map)) => Ok(map),
            _ => Err(format!("the records have no `{key}`")),
        };
        Ok(Self {
            products: part("products")?,
            users: part("users")?,
            orders: part("orders")?,
        })
    }
}

/// The shop during one session.
#[derive(Clone)]
pub struct SimulatedShop {
    records: Arc<ShopRecords>,
    /// The changes of this session.
    users: HashMap<String, Json>,
    orders: HashMap<String, Json>,
}

type ShopAnswer = Result<Json, String>;

impl SimulatedShop {
    /// A shop in its initial state.
    pub fn new(records: Arc<ShopRecords>) -> Self {
        Self {
            records,
            users: HashMap::new(),
            orders: HashMap::new(),
        }
    }

    /// Calls a tool of the shop; returns its answer, or why the shop rejects it.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let arguments: Json =
            serde_json::from_str(&arguments.to_json()).map_err(|error| error.to_string())?;
        self.answer(tool, &arguments).map(Value::from)
    }

    fn answer(&mut self, tool: &str, given: &Json) -> ShopAnswer {
        match tool {
            "find_user_id_by_email" => {
                let email = text(given, "email")?.to_lowercase();
                self.user_where(|user| {
                    user["email"].as_str().map(str::to_lowercase) == Some(email.clone())
                })
            }
            "find_user_id_by_name_zip" => {
                let name = |key: &str| text(given, key).map(str::to_lowercase);
                let (first, last) = (name("first_name")?, name("last_name")?);
                let zip = text(given, "zip")?;
                self.user_where(|user| {
                    let is = |key: &str, name: &str| {
                        user["name"][key].as_str().map(str::to_lowercase).as_deref() == Some(name)
                    };
                    is("first_name", &first)
                        && is("last_name", &last)
                        && user["address"]["zip"] == zip
                })
            }
            "get_user_details" => self.user(text(given, "user_id")?).cloned(),
            "get_order_details" => self.order(text(given, "order_id")?).cloned(),
            "get_product_details" => {
                let product = self.records.products.get(text(given, "product_id")?);
                product
                    .cloned()
                    .ok_or_else(|| "product not found".to_owned())
            }
            "get_item_details" => {
                let item = self.variant(text(given, "item_id")?);
                item.map(|(_, item)| item.clone())
                    .ok_or_else(|| "item not found".to_owned())
            }
            "list_all_product_types" => {
                let products = self.records.products.iter();
                let named = products.filter_map(|(id, it)| Some((it["name"].as_str()?, id)));
                Ok(json!(named.collect::<HashMap<_, _>>()))
            }
            "calculate" => calculate(text(given, "expression")?),
            "transfer_to_human_agents" => Ok(json!("Transfer successful")),
            _ => self.write(tool, given),
        }
    }

    fn user_where(&self, fits: impl Fn(&Json) -> bool) -> ShopAnswer {
        let known = self.records.users.iter();
        let mut now = known.map(|(id, user)| (id, self.users.get(id).unwrap_or(user)));
        let found = now.find(|(_, user)| fits(user));
        let found = found.map(|(id, _)| json!(id));
        found.ok_or_else(|| "user not found".to_owned())
    }

    fn user(&self, id: &str) -> Result<&Json, String> {
        let user = self.users.get(id).or_else(|| self.records.users.get(id));
        user.ok_or_else(|| "user not found".to_owned())
    }

    fn order(&self, id: &str) -> Result<&Json, String> {
        let order = self.orders.get(id).or_else(|| self.records.orders.get(id));
        order.ok_or_else(|| "order not found".to_owned())
    }

    /// A variant with the product it belongs to.
    fn variant(&self, item: &str) -> Option<(&str, &Json)> {
        let mut products = self.records.products.iter();
        products.find_map(|(id, product)| Some((id.as_str(), product["variants"].get(item)?)))
    }
}

fn text<'j>(given: &'j Json, key: &str) -> Result<&'j str, String> {
    given[key]
        .as_str()
        .ok_or_else(|| format!("`{key}` is missing"))
}

/// Arithmetic, which is also a JSONata expression.
fn calculate(expression: &str) -> ShopAnswer {
    let is_plain = expression.chars().all(|c| "0123456789+-*/(). ".contains(c));
    if !is_plain {
        return Err("invalid characters in expression".to_owned());
    }
    let compiled = Expression::compile(expression, &HostFunctions::none());
    let compiled = compiled.map_err(|error| error.to_string())?;
    let value = compiled.evaluate(&Value::Null, &NoHost, &Limits::default());
    let value = value.map_err(|error| error.to_string())?;
    Ok(json!(value.unwrap_or_default().to_json()))
}
